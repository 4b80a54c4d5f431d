// Reads exported histories from files, and replays them with the current code in a test.

import { readFile } from 'node:fs/promises'
import { parseGraph } from '../addons/documents/parse.ts'
import { PawlError } from '../core/base/errors.ts'
import type { AnyActivity } from '../core/definitions/activity.ts'
import type { AnyWorkflow } from '../core/definitions/workflow.ts'
import { systemClock } from '../core/runtime/clock.ts'
import { Deciders } from '../core/worker/deciders.ts'
import { checkRun } from '../core/worker/replay.ts'
import { type ExportedRun, registryOf } from '../engine.ts'

/** Reads a file of `pawl export` or `engine.export`: one run per line. */
export async function readHistory(file: string): Promise<readonly ExportedRun[]> {
  const text = await readFile(file, 'utf8')
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const run = parse(line)
      if (run) return run
      const message = `line ${index + 1} of ${file} is not an exported run: expected an object with head and turns. Write the file with \`pawl export\`.`
      throw new PawlError('INPUT_INVALID', message)
    })
}

/** Throws if the current code does not fit the history of one of these runs; the error says where they differ. */
export async function replay(
  definitions: readonly (AnyWorkflow | AnyActivity)[],
  histories: readonly ExportedRun[] | Promise<readonly ExportedRun[]>,
): Promise<void> {
  const workflows = definitions.filter((each): each is AnyWorkflow => each.is === 'workflow')
  const deciders = new Deciders(registryOf({ workflows }), parseGraph)
  for (const run of await histories) {
    const found = await checkRun(deciders, systemClock, run)
    const { runId, name } = run.head
    if (found.verdict === 'noCode') {
      throw new PawlError(
        'NO_CODE_HERE',
        `run ${runId} is of workflow '${name}', which replay was not given. Add it to the definitions.`,
      )
    }
    if (found.verdict === 'differs') {
      throw new PawlError('DETERMINISM', `run ${runId}: ${found.failure.message}`)
    }
  }
}

function parse(line: string): ExportedRun | undefined {
  try {
    const run = JSON.parse(line) as Partial<ExportedRun>
    return run.head && Array.isArray(run.turns) ? (run as ExportedRun) : undefined
  } catch {
    return undefined
  }
}
