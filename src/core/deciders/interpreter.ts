// The base of graphs and machines, which keep no user code alive between turns: they read events and return commands.

import { PawlError } from '../base/errors.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from '../kernel/command.ts'
import type { Execution, LogEntry, StepPlan } from '../kernel/decider.ts'
import { endedUnbegun } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'

export abstract class Interpreter implements Execution {
  readonly readClock = false
  readonly broken = undefined
  onBreak: () => void = () => {}
  abstract readonly unrequested: readonly string[]

  async advance(events: readonly HistoryEvent[], now: Instant, replayedThrough = 0): Promise<readonly Command[]> {
    const ended = endedUnbegun(events)
    if (ended) return [ended]
    const isOld = ({ seq }: HistoryEvent): boolean => seq <= replayedThrough
    return this.react(
      events.filter(isOld),
      events.filter((event) => !isOld(event)),
      now,
    )
  }

  /** `old` are events that another execution has answered; `fresh` are new. */
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

type Style = 'graph' | 'machine'

/** Updates without an answer. Graphs and machines refuse them all, so that their senders get one. */
export class UnansweredUpdates {
  readonly #style: Style
  readonly #ids = new Set<string>()

  constructor(style: Style) {
    this.#style = style
  }

  fold({ type, id }: Extract<HistoryEvent, { type: 'UpdateReceived' | 'UpdateFailed' }>): void {
    if (type === 'UpdateReceived') this.#ids.add(id)
    else this.#ids.delete(id)
  }

  takeRefusals(): readonly Command[] {
    const message = `a ${this.#style} has no updates; only workflow functions answer them. Send it a signal instead.`
    const failure = { type: 'UpdateRejected', message, retryable: false }
    const ids = [...this.#ids]
    this.#ids.clear()
    return ids.map((id) => ({
      type: 'AnswerUpdate',
      id,
      answer: { ok: false, failure, rejected: true },
    }))
  }
}

export function unknownQuery(name: string, style: Style, known: string): PawlError {
  const message = `the run has no query '${name}': a ${style} answers only '${known}'. Query that instead.`
  return new PawlError('QUERY_NOT_FOUND', message)
}
