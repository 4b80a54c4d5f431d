// Replays runs with today's code, up to where they are and no further: nothing is written and no step runs. Queries are
// answered this way, and `engine.check` finds the runs that new code does not fit.

import { PawlError } from '../base/errors.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from '../kernel/command.ts'
import type { Execution } from '../kernel/decider.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredHead, StoredTurn } from '../stores/store.ts'
import type { Deciders } from './deciders.ts'
import { decodeHistory, headOf, headSince } from './history.ts'
import { keepRejections } from './rejections.ts'

/** A run as it is stored: everything that a replay needs. */
export interface RecordedRun {
  readonly head: StoredHead
  readonly turns: readonly StoredTurn[]
}

export type Verdict =
  /** The code replays the whole history. `unrequested` are recorded steps that it does not request any more. */
  | { readonly verdict: 'moves'; readonly unrequested: readonly string[] }
  /** The code does not fit: the run would be paused. The failure says where code and history differ. */
  | { readonly verdict: 'differs'; readonly failure: Failure }
  | { readonly verdict: 'noCode' }

/** What code may wait for. */
const AWAITED: ReadonlySet<Command['type']> = new Set(['RunStep', 'SetTimer', 'AwaitSignal', 'StartChild'])

/** Answers a query by the code of a run. @internal */
export async function queryRun(
  deciders: Deciders,
  clock: Clock,
  { name, payload, ...run }: RecordedRun & { readonly name: string; readonly payload: Payload },
): Promise<Payload> {
  const replayed = await replay(deciders, clock, run, (execution) => execution.query(name, payload))
  if (replayed) return replayed.answer
  throw new PawlError(
    'NO_CODE_HERE',
    `a query is answered by the code of the run, and this process has none for '${run.head.name}'. Give the workflow to open({ workflows }).`,
  )
}

/** Whether a run would continue with this code. @internal */
export async function checkRun(deciders: Deciders, clock: Clock, run: RecordedRun): Promise<Verdict> {
  try {
    const replayed = await replay(deciders, clock, run, ({ unrequested }, commands) =>
      // While the code waits for something new, it is unknown what it requests after that.
      commands.some(({ type }) => AWAITED.has(type)) ? [] : unrequested,
    )
    return replayed ? { verdict: 'moves', unrequested: replayed.answer } : { verdict: 'noCode' }
  } catch (error) {
    return { verdict: 'differs', failure: failureOf(error) }
  }
}

async function replay<T>(
  deciders: Deciders,
  clock: Clock,
  { head: stored, turns }: RecordedRun,
  ask: (execution: Execution, commands: readonly Command[]) => T,
): Promise<{ readonly answer: T } | undefined> {
  const { events, state } = decodeHistory(turns)
  const head = headSince(headOf({ head: stored }), events)
  const decider = await deciders.of(head, events)
  if (!decider) return undefined
  const stopKeeping = keepRejections()
  // A secret that is made in a replay is never written, so that any value will do.
  const world = { breathe: () => clock.breathe(), secret: () => '' }
  const execution = decider.open(head, world)
  try {
    const now = Math.max(state.at, head.createdAt)
    const commands = await execution.advance(events, now, events.length)
    return { answer: ask(execution, commands) }
  } finally {
    execution.dispose()
    stopKeeping()
  }
}
