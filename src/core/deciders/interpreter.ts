// What styles have in common that keep no code of the user's alive between turns: they read events and answer with commands.

import { PawlError } from '../base/errors.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from '../kernel/command.ts'
import type { Execution, LogEntry, StepPlan } from '../kernel/decider.ts'
import { endedUnbegun } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'

export abstract class Interpreter implements Execution {
  readonly readClock = false
  readonly broken = undefined
  onBreak: () => void = () => {}
  abstract readonly unasked: readonly string[]

  async advance(
    events: readonly HistoryEvent[],
    now: Instant,
    replayedThrough = 0,
  ): Promise<readonly Command[]> {
    const ended = endedUnbegun(events)
    if (ended) return [ended]
    const isOld = ({ seq }: HistoryEvent): boolean => seq <= replayedThrough
    return this.react(
      events.filter(isOld),
      events.filter((event) => !isOld(event)),
      now,
    )
  }

  /** What was seen before by another execution, and what is new. */
  protected abstract react(
    old: readonly HistoryEvent[],
    fresh: readonly HistoryEvent[],
    now: Instant,
  ): readonly Command[]
  abstract step(key: string): StepPlan | undefined
  abstract query(name: string, payload: Payload): Payload

  takeLogs(): readonly LogEntry[] {
    return []
  }

  dispose(): void {}
}

/** Nobody there answers updates, and whoever sent one is told so. */
export function refuseUpdate(id: string, style: string): Command {
  const message = `a ${style} takes no updates. Send it a signal.`
  const failure = { type: 'UpdateRejected', message, retryable: false }
  return { type: 'AnswerUpdate', id, answer: { ok: false, failure, rejected: true } }
}

export function unknownQuery(name: string, style: string, known: string): PawlError {
  return new PawlError('QUERY_NOT_FOUND', `a ${style} answers the query '${known}', not '${name}'.`)
}
