// Runs a workflow once for every write at which its worker could die, and expects the same outcome each time.
import { isDeepStrictEqual } from 'node:util'
import { CancelledError, PawlError, RunError } from '../core/base/errors.ts'
import type { Failure } from '../core/base/failure.ts'
import type { Args, WorkflowContract } from '../core/definitions/contract.ts'
import type { TestEngine } from './test-engine.ts'

export type CrashReport<Out> = {
  /** The number of crashes, one for each run of the workflow after the first. */
  readonly crashes: number
} & Outcome<Out>

/** The outcome of the run: its output, or its failure. */
type Outcome<Out> =
  | { readonly output: Out; readonly failure?: undefined }
  | { readonly output?: undefined; readonly failure: RootFailure }

/** The root cause of the failure. */
type RootFailure = Pick<Failure, 'type' | 'message'> & { readonly code?: string }

/**
 * Each turn that a worker writes ends at an await of the workflow. For each turn the workflow runs twice: the worker is
 * killed just before the turn is written, and just after. Steps that were not recorded yet run twice; a stub that
 * counts should expect that. A workflow that fails must fail the same way each time.
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
    const hasCrashed = engine.crashAtTurn(turn, when)
    const other = await begin()
    if (!hasCrashed()) {
      engine.calm()
      return { crashes, ...first }
    }
    if (isDeepStrictEqual(other, first)) continue
    const message = `workflow '${workflow.name}' ended with ${show(other)} after its worker died ${when} writing turn ${turn}, but ${show(first)} without a crash. Make its steps idempotent and its code deterministic.`
    throw new PawlError('DETERMINISM', message)
  }
}

// Only the end of the run is an outcome; any other error is thrown, because the test itself failed.
function failureOf(error: unknown): { readonly failure: RootFailure } {
  if (error instanceof CancelledError) return { failure: { type: 'Cancelled', message: error.message } }
  if (!(error instanceof RunError)) throw error
  const { type, message, code } = rootOf(error.failure)
  return { failure: { type, message, ...(code !== undefined && { code }) } }
}

// Compares root causes only, because the failures around them contain attempts and run ids, which a crash may change.
function rootOf(failure: Failure): Failure {
  return failure.cause ? rootOf(failure.cause) : failure
}

function show({ output, failure }: Outcome<unknown>): string {
  const value = failure ? `${failure.type}: ${failure.message}` : output
  return JSON.stringify(value)?.slice(0, 200) ?? String(value)
}
