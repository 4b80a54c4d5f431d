// Replays runs with today's code, to where they stand and no further: nothing is written and no step is run. It answers
// queries, and it tells before a deploy which runs the new code would not fit.

import { PawlError } from '../base/errors.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from '../kernel/command.ts'
import type { Execution } from '../kernel/decider.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredHead, StoredTurn } from '../stores/store.ts'
import type { Deciders } from './deciders.ts'
import { headOf, headSince, pastOf } from './past.ts'
import { keepRejections } from './rejections.ts'

/** A run as it is stored: all that code needs to be brought to where it stands. */
export interface RecordedRun {
  readonly head: StoredHead
  readonly turns: readonly StoredTurn[]
}

export type Verdict =
  /** The code comes to where the run stands. `unasked` was recorded, and the code does not ask for it any more. */
  | { readonly verdict: 'moves'; readonly unasked: readonly string[] }
  /** It does not: the run would be paused. The failure says where they part. */
  | { readonly verdict: 'differs'; readonly failure: Failure }
  | { readonly verdict: 'noCode' }

/** What code may wait for. */
const AWAITED: ReadonlySet<Command['type']> = new Set([
  'RunStep',
  'SetTimer',
  'AwaitSignal',
  'StartChild',
])

/** Has the code of a run answer a question. @internal */
export async function inquire(
  deciders: Deciders,
  clock: Clock,
  { name, payload, ...run }: RecordedRun & { readonly name: string; readonly payload: Payload },
): Promise<Payload> {
  const asked = await rehearse(deciders, clock, run, (execution) => execution.query(name, payload))
  if (asked) return asked.answer
  throw new PawlError(
    'NO_CODE_HERE',
    `a query is answered by the code of the run, and this process has none for '${run.head.name}'. Give the workflow to open({ workflows }).`,
  )
}

/** Whether a run would go on with this code. @internal */
export async function judge(deciders: Deciders, clock: Clock, run: RecordedRun): Promise<Verdict> {
  try {
    const asked = await rehearse(deciders, clock, run, ({ unasked }, commands) =>
      // While it waits for something new, nobody knows what it asks for after that.
      commands.some(({ type }) => AWAITED.has(type)) ? [] : unasked,
    )
    return asked ? { verdict: 'moves', unasked: asked.answer } : { verdict: 'noCode' }
  } catch (error) {
    return { verdict: 'differs', failure: failureOf(error) }
  }
}

async function rehearse<T>(
  deciders: Deciders,
  clock: Clock,
  { head: stored, turns }: RecordedRun,
  ask: (execution: Execution, commands: readonly Command[]) => T,
): Promise<{ readonly answer: T } | undefined> {
  const { events, state } = pastOf(turns)
  const head = headSince(headOf({ head: stored }), events)
  const decider = await deciders.of(head, events)
  if (!decider) return undefined
  const letGo = keepRejections()
  // What the code would make up is never written, and so worth nothing.
  const world = { breathe: () => clock.breathe(), secret: () => '' }
  const execution = decider.open(head, world)
  try {
    const now = Math.max(state.at, head.createdAt)
    const commands = await execution.advance(events, now, events.length)
    return { answer: ask(execution, commands) }
  } finally {
    execution.dispose()
    letGo()
  }
}
