// The handlers of a workflow function: for signals and updates, for queries, and for conditions that the code waits
// for. A handler runs in a scope of its own. The run ends when its function does, even if handlers are still running.

import { CancelledError, PawlError } from '../../base/errors.ts'
import { failureOf } from '../../base/failure.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { AcceptUpdate, AnswerUpdate } from '../../kernel/command.ts'
import { channelOf, type Settlement } from './journal.ts'

export interface MessageHandler {
  readonly run: (payload: unknown, messageId: string) => Promise<unknown>
  /** Throws to refuse an update. */
  readonly validate?: (payload: unknown) => void
}

type Delivered = Extract<Settlement, { type: 'SignalReceived' | 'UpdateReceived' }>

interface Condition {
  readonly isMet: () => boolean
  readonly meet: () => void
}

export class Handlers {
  readonly #messages = new Map<string, MessageHandler>()
  readonly #queries = new Map<string, (payload: unknown) => unknown>()
  readonly #conditions = new Map<string, Condition>()
  #answers: (AcceptUpdate | AnswerUpdate)[] = []
  /** Messages whose handlers are running, by their ids. */
  readonly #inProgress = new Map<string, Delivered>()
  /** Fails the run: the sender of a signal gets no answer, so a failed handler must not go unnoticed. */
  readonly #fail: (error: unknown) => void

  constructor(fail: (error: unknown) => void) {
    this.#fail = fail
  }

  on(channel: string, handler: MessageHandler): void {
    this.#messages.set(channel, handler)
  }

  onQuery(name: string, handler: (payload: unknown) => unknown): void {
    this.#queries.set(name, handler)
  }

  /** Starts the handler of a message. The validator is not called again for an update that it accepted. */
  deliver(message: Delivered, accepted: ReadonlySet<string>): void {
    const handler = this.#messages.get(channelOf(message))
    if (!handler) return
    const { id } = message
    const payload = decode(message.payload)
    if (message.type === 'SignalReceived') {
      this.#inProgress.set(id, message)
      handler.run(payload, id).then(
        () => this.#inProgress.delete(id),
        (error: unknown) => this.#failed(id, error),
      )
      return
    }
    if (handler.validate && !accepted.has(id)) {
      try {
        handler.validate(payload)
      } catch (error) {
        return this.#answer(id, { ok: false, failure: failureOf(error), rejected: true })
      }
      this.#answers.push({ type: 'AcceptUpdate', id })
    }
    this.#inProgress.set(id, message)
    handler.run(payload, id).then(
      (value) => this.#complete(id, message.name, value),
      (error: unknown) => this.#answer(id, { ok: false, failure: failureOf(error) }),
    )
  }

  query(name: string, payload: Payload): Payload {
    const handler = this.#queries.get(name)
    if (!handler) {
      const known = [...this.#queries.keys()].join(', ') || 'none'
      throw new PawlError(
        'QUERY_NOT_FOUND',
        `the run has no handler for query '${name}'; it has: ${known}. Register one with ctx.on, or correct the name.`,
      )
    }
    const value = handler(decode(payload))
    if (value instanceof Promise) {
      throw new PawlError(
        'INPUT_INVALID',
        `the handler of query '${name}' returned a promise, but a query must answer at once. Return a value that the workflow already has, or use an update.`,
      )
    }
    return encode(value, `the answer to query '${name}'`)
  }

  await(key: string, condition: Condition): void {
    this.#conditions.set(key, condition)
  }

  forget(key: string): void {
    this.#conditions.delete(key)
  }

  /** Settles the first condition that holds. Called whenever the code has come to rest. */
  meetNext(): boolean {
    for (const [key, { isMet, meet }] of this.#conditions) {
      if (!isMet()) continue
      this.#conditions.delete(key)
      meet()
      return true
    }
    return false
  }

  /** Answers the updates in progress with a failure, because the run continues as new without them. */
  abandonUpdates(): void {
    const message = 'the run continued as new before it answered the update. Send the update again.'
    const failure = { type: 'UpdateAbandoned', message, retryable: true }
    for (const { id, type } of [...this.#inProgress.values()])
      if (type === 'UpdateReceived') this.#answer(id, { ok: false, failure })
  }

  /** The names of handlers in progress, for people. */
  get unfinished(): readonly string[] {
    return [...this.#inProgress.values()].map(
      ({ type, name }) => `${type === 'UpdateReceived' ? 'update' : 'signal'} '${name}'`,
    )
  }

  /** The answers to updates that the history does not have yet. */
  takeAnswers(answered: ReadonlySet<string>): readonly (AcceptUpdate | AnswerUpdate)[] {
    const answers = this.#answers.filter(({ id }) => !answered.has(id))
    this.#answers = []
    return answers
  }

  #complete(id: string, name: string, value: unknown): void {
    try {
      this.#answer(id, { ok: true, value: encode(value, `the answer to update '${name}'`) })
    } catch (error) {
      this.#answer(id, { ok: false, failure: failureOf(error) })
    }
  }

  #answer(id: string, answer: AnswerUpdate['answer']): void {
    this.#inProgress.delete(id)
    this.#answers.push({ type: 'AnswerUpdate', id, answer })
  }

  // A handler that was cancelled with its run does not make the run fail.
  #failed(id: string, error: unknown): void {
    this.#inProgress.delete(id)
    if (!(error instanceof CancelledError)) this.#fail(error)
  }
}
