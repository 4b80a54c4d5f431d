// Histories as files: exported from a store, and replayed with today's code in a test.

import { readFile } from 'node:fs/promises'
import { parseGraph } from '../addons/documents/parse.ts'
import { PawlError } from '../core/base/errors.ts'
import type { AnyActivity } from '../core/definitions/activity.ts'
import type { AnyWorkflow } from '../core/definitions/workflow.ts'
import { systemClock } from '../core/runtime/clock.ts'
import { Deciders } from '../core/worker/deciders.ts'
import { checkRun } from '../core/worker/replay.ts'
import { type ExportedRun, registryOf } from '../engine.ts'

/** Reads what `pawl export`, or `engine.export`, wrote: one run a line. */
export async function readHistory(file: string): Promise<readonly ExportedRun[]> {
  const text = await readFile(file, 'utf8')
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const run = parse(line)
      if (run) return run
      const message = `line ${index + 1} of ${file} is not a run that \`pawl export\` wrote.`
      throw new PawlError('INPUT_INVALID', message)
    })
}

/** Throws if today's code would not go on with one of these runs, and says where they part. */
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
      throw new PawlError('NO_CODE_HERE', `there is no workflow '${name}' to replay run ${runId}.`)
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
