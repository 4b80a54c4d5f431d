// What handlers of operations share.

import { CancelledError, PawlError, RunError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { isUuid } from '../../core/base/names.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import { quote } from '../../core/base/visible.ts'
import { type Page, type RunHandle, type RunRef, type Why, whyText } from '../../core/index.ts'
import type { Engine } from '../../engine.ts'
import type { InputOf } from '../inputs.ts'
import type { Answer, AuditEntry, Credential, Outcome, OutputOf, TokenRecord } from '../outputs.ts'
import type { OperationName, Scope } from '../routes.ts'

/** What a server keeps beside runs. */
export interface ServerBooks {
  readonly tokens: {
    list(): Promise<readonly TokenRecord[]>
    create(given: Credential & { readonly expiresAt?: Date }): Promise<TokenRecord & { readonly token: string }>
    revoke(id: string): Promise<void>
  }
  readonly audit: { list(page: InputOf<'audit.list'>): Promise<Page<AuditEntry>> }
}

/** Who makes a call, and with what. */
export interface Caller {
  readonly engine: Engine
  /** The name of the token, or of the user of the command line. */
  readonly name?: string
  readonly scope: Scope
  /** The namespace of the caller. */
  readonly namespace: string
  readonly books: ServerBooks
  /** Aborted when the caller is gone, or the server stops. */
  readonly signal: AbortSignal
  /** Answers queries where the code of the runs is in another process. Default: the engine does. */
  readonly query?: QueryCode
}

/** Asks the code of a run, in another process. */
export type QueryCode = (question: InputOf<'runs.query'>) => Promise<unknown>

export type Handlers<Names extends OperationName> = {
  readonly [N in Names]: (input: InputOf<N>, caller: Caller) => Promise<OutputOf<N>> | OutputOf<N>
}

/** `w:order-1` is a workflow id, anything else a run id. */
export function refOf(run: string): RunRef {
  if (run.startsWith('w:')) return { workflowId: run.slice(2) }
  if (isUuid(run)) return run
  const problem = `${quote(run.slice(0, 100))} is not a run; expected a run id, which is a UUID`
  throw new PawlError('RUN_ID_INVALID', `${problem}, or \`w:\` and a workflow id, such as w:order-1.`)
}

export function notFound(runId: string): PawlError {
  return new PawlError('RUN_NOT_FOUND', `run ${runId} was deleted.`)
}

/** How long a call waits for a run. Undefined: not at all. */
export function waitOf(wait: Duration | undefined): number | undefined {
  const ms = wait === undefined ? 0 : milliseconds(wait, 'wait')
  return ms === 0 ? undefined : Math.min(ms, limits.requestWaitMsMax)
}

/** How the run ended. If it has not ended within `wait`, why. */
export async function outcomeOf(
  handle: RunHandle<unknown>,
  wait: Duration | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const timeout = waitOf(wait)
  const runId = await idOf(handle)
  if (timeout === undefined) {
    const { endedAt } = await handle.describe()
    if (endedAt === undefined) return { runId, status: 'live', ...unfinished(await handle.why()) }
  }
  try {
    return { runId, status: 'completed', output: await handle.result({ signal, ...(timeout && { timeout }) }) }
  } catch (error) {
    if (error instanceof RunError) {
      const { failure, compensationFailures } = error
      return { runId, status: 'failed', failure, compensationFailures }
    }
    if (error instanceof CancelledError) {
      return { runId, status: 'cancelled', ...(error.reason !== undefined && { reason: error.reason }) }
    }
    const why = whyIn(error)
    if (why) return { runId, status: 'live', ...unfinished(why) }
    throw error
  }
}

/** A handle by workflow id learns its run id from the store. */
async function idOf(handle: RunHandle<unknown>): Promise<string> {
  try {
    return handle.runId
  } catch {
    return (await handle.describe()).runId
  }
}

export function unfinished(why: Why): { readonly why: Why; readonly text: string } {
  return { why, text: whyText(why) }
}

/** The answer to an update; if there is none within the time, why. */
export async function answerWithin(messageId: string, wait: () => Promise<unknown>): Promise<Answer> {
  try {
    return { messageId, result: await wait() }
  } catch (error) {
    const why = whyIn(error)
    if (why) return { messageId, ...unfinished(why) }
    throw error
  }
}

function whyIn(error: unknown): Why | undefined {
  if (!(error instanceof PawlError) || error.code !== 'NOT_ENDED') return undefined
  return (error.details as { readonly why: Why }).why
}
