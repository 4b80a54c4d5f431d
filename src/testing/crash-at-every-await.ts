// Runs a workflow once for every place where its worker could die, and expects the same outcome each time.
import { isDeepStrictEqual } from 'node:util'
import { CancelledError, PawlError, RunError } from '../core/base/errors.ts'
import type { Failure } from '../core/base/failure.ts'
import type { Args, WorkflowContract } from '../core/definitions/contract.ts'
import type { TestEngine } from './test-engine.ts'

export type CrashReport<Out> = {
  /** How many places there were. */
  readonly crashes: number
} & Outcome<Out>

/** What became of the run: what it gave, or how it failed. */
type Outcome<Out> =
  | { readonly output: Out; readonly failure?: undefined }
  | { readonly output?: undefined; readonly failure: Told }

/** What was at the root of the failure. */
type Told = Pick<Failure, 'type' | 'message'> & { readonly code?: string }

/**
 * Each turn a worker writes ends at an await of the workflow. The worker is killed just before one of them is written,
 * in another run just after, and so on for all of them. Steps may run twice where they were not recorded yet: their
 * stubs, if they count, should expect that. A workflow that fails must fail the same way each time.
 */
export async function crashAtEveryAwait<In, Out>(
  engine: TestEngine,
  workflow: WorkflowContract<In, Out>,
  ...args: Args<In, never>
): Promise<CrashReport<Out>> {
  const begin = async (): Promise<Outcome<Out>> => {
    const run = await engine.start(workflow, ...args)
    return run.result().then((output) => ({ output }), failureOf)
  }
  const first = await begin()
  for (let crashes = 0; ; crashes++) {
    const [turn, when] = [(crashes >> 1) + 1, crashes % 2 === 0 ? 'before' : 'after'] as const
    const met = engine.crashAtTurn(turn, when)
    const other = await begin()
    if (!met()) {
      engine.calm()
      return { crashes, ...first }
    }
    if (isDeepStrictEqual(other, first)) continue
    const message = `workflow '${workflow.name}' gave ${show(other)} when its worker died ${when} it wrote turn ${turn}, and ${show(first)} otherwise.`
    throw new PawlError('DETERMINISM', message)
  }
}

// Only an end of the run is an outcome; anything else went wrong with the test.
function failureOf(error: unknown): { readonly failure: Told } {
  if (error instanceof CancelledError)
    return { failure: { type: 'Cancelled', message: error.message } }
  if (!(error instanceof RunError)) throw error
  const { type, message, code } = rootOf(error.failure)
  return { failure: { type, message, ...(code !== undefined && { code }) } }
}

// What wraps it tells how often it was tried, and names runs: a crash may change both.
function rootOf(failure: Failure): Failure {
  return failure.cause ? rootOf(failure.cause) : failure
}

function show({ output, failure }: Outcome<unknown>): string {
  const value = failure ? `${failure.type}: ${failure.message}` : output
  return JSON.stringify(value)?.slice(0, 200) ?? String(value)
}
