// Runs a workflow once for every place where its worker could die, and expects the same outcome each time.
import { isDeepStrictEqual } from 'node:util'
import type { Args, WorkflowContract } from '../definitions/contract.ts'
import { PawlError } from '../kernel/errors.ts'
import type { TestEngine } from './test-engine.ts'

export interface CrashReport<Out> {
  /** How many places there were. */
  readonly crashes: number
  readonly output: Out
}

/**
 * Each turn a worker writes ends at an await of the workflow. The worker is killed just before one of them is written,
 * in another run just after, and so on for all of them. Steps may run twice where they were not recorded yet: their
 * stubs, if they count, should expect that.
 */
export async function crashAtEveryAwait<In, Out>(
  engine: TestEngine,
  workflow: WorkflowContract<In, Out>,
  ...args: Args<In, never>
): Promise<CrashReport<Out>> {
  const begin = async (): Promise<Out> => {
    const run = await engine.start(workflow, ...args)
    return run.result()
  }
  const output = await begin()
  for (let crashes = 0; ; crashes++) {
    const [turn, when] = [(crashes >> 1) + 1, crashes % 2 === 0 ? 'before' : 'after'] as const
    const met = engine.crashAtTurn(turn, when)
    const other = await begin()
    if (!met()) return { crashes, output }
    if (isDeepStrictEqual(other, output)) continue
    const message = `workflow '${workflow.name}' gave ${show(other)} when its worker died ${when} it wrote turn ${turn}, and ${show(output)} otherwise.`
    throw new PawlError('DETERMINISM', message)
  }
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value)
}
