// Starts as a server takes them: the workflow by its name, and what its definition says about its runs as options.
import { byteLength } from '../core/base/bytes.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { encodeAnswer } from '../core/base/value.ts'
import { type KnownSchemas, parseInput, runNameOf, type WorkflowOptions } from '../core/browser.ts'
import type { Startable, StartOptions } from '../core/index.ts'
import { notSupported } from './errors.ts'

type Known = {
  readonly options?: WorkflowOptions
  readonly schemas?: KnownSchemas
  readonly version?: number
}

/** The name and the options of a start. The input is checked, but sent as given: the worker parses it. */
export async function startOf<In>(
  workflow: Startable<In, unknown> & Known,
  input: unknown,
  { transaction, ...options }: StartOptions,
): Promise<{ readonly workflow: string } & Omit<StartOptions, 'transaction'>> {
  if (workflow?.is !== 'workflow' && workflow?.is !== 'activity') {
    throw new PawlError('INPUT_INVALID', 'start got no definition; expected a workflow or an activity.')
  }
  if (transaction !== undefined) throw notSupported('a start in a transaction', 'Open the store in this process.')
  const { queue, priority, runTimeout, executionTimeout } = workflow.options ?? {}
  if (workflow.is === 'activity') return { queue, priority, ...options, workflow: runNameOf(workflow) } as never
  await parseInput(workflow, input)
  const own = { queue, priority, runTimeout, executionTimeout, version: workflow.version }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...own, ...Object.fromEntries(given), workflow: workflow.name } as never
}

export function refuseActivity({ is }: Startable<never, unknown>, call: string): void {
  if (is !== 'activity') return
  throw new PawlError('INPUT_INVALID', `${call} got an activity, which receives no messages; expected a workflow.`)
}

/** Runs in groups that fit into one request each. */
export function groupsOf<Run>(runs: readonly Run[]): Run[][] {
  const groups: Run[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const run of runs) {
    const size = byteLength(JSON.stringify(encodeAnswer(run, 'a run of startMany')))
    const last = groups.at(-1)
    bytes += size
    if (last && last.length < limits.batchElements && bytes < limits.requestBytesMax / 2) last.push(run)
    else {
      groups.push([run])
      bytes = size
    }
  }
  return groups
}
