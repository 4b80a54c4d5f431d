// One process with the user's code, as its parent sees it.
import { type ChildProcess, fork } from 'node:child_process'
import { PawlError, type PawlErrorCode } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { MetricsSnapshot } from '../../index.ts'
import { processFile } from '../invocation.ts'
import type { CodeSetup, FromCode, Loaded, LoadedFile, Question, ToCode } from './messages.ts'

export type LoadOutcome =
  | ({ readonly isLoaded: true; readonly files: readonly LoadedFile[] } & Loaded)
  | { readonly isLoaded: false; readonly message: string; readonly files: readonly LoadedFile[] }

/** Why a process ended: `code 1`, `SIGKILL`. */
type Ending = string

export class CodeProcess {
  /** How the loading ended; a process that ends meanwhile has failed. */
  readonly loaded: Promise<LoadOutcome>
  /** Resolves with a problem, or without one when it works. */
  readonly ready: Promise<string | undefined>
  readonly ended: Promise<Ending>
  readonly startedAt = systemClock.monotonic()
  readonly #child: ChildProcess
  /** What it counted, as far as it has told. */
  counted: MetricsSnapshot = {}
  readonly #questions = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0
  #stopTimer: (() => void) | undefined

  constructor(setup: CodeSetup, hear: (message: FromCode) => void) {
    this.#child = fork(processFile('code/child'), [], {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const loaded = Promise.withResolvers<LoadOutcome>()
    const ready = Promise.withResolvers<string | undefined>()
    const ended = Promise.withResolvers<Ending>()
    this.loaded = loaded.promise
    this.ready = ready.promise
    this.ended = ended.promise
    this.#child.on('message', (given) => {
      const message = given as FromCode
      this.#settle(message)
      if (message.type === 'loaded') loaded.resolve({ isLoaded: true, ...message })
      if (message.type === 'ready') ready.resolve(undefined)
      if (message.type === 'failed') {
        loaded.resolve({ isLoaded: false, ...message })
        ready.resolve(message.message)
      }
      hear(message)
    })
    const end = (ending: Ending): void => {
      const message = `the process with the code ended (${ending}) before it was ready`
      loaded.resolve({ isLoaded: false, message, files: [] })
      ready.resolve(message)
      ended.resolve(ending)
      this.#stopTimer?.()
      for (const { reject } of this.#questions.values()) reject(gone())
      this.#questions.clear()
    }
    this.#child.once('error', (error) => end(error.message))
    this.#child.once('exit', (code, signal) => end(signal ?? `code ${code}`))
    this.#send({ type: 'load', setup })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  work(): void {
    this.#send({ type: 'work' })
  }

  /** Lets running steps finish within the grace. A process that does not end in time is killed. */
  drain(graceMs: number): void {
    this.#send({ type: 'drain', graceMs })
    this.#stopTimer?.()
    this.#stopTimer = systemClock.after(graceMs + 2 * limits.abortGraceMs, () => this.kill())
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  query(question: Question): Promise<unknown> {
    if (!this.#child.connected) return Promise.reject(gone())
    const id = ++this.#lastId
    const answer = Promise.withResolvers<unknown>()
    this.#questions.set(id, answer)
    this.#send({ type: 'query', id, question })
    return answer.promise
  }

  /** Its metrics; those it told last, if it ends. */
  async metrics(): Promise<MetricsSnapshot> {
    if (this.#child.connected) {
      const id = ++this.#lastId
      const answer = Promise.withResolvers<unknown>()
      this.#questions.set(id, answer)
      this.#send({ type: 'metrics', id })
      await answer.promise.catch(() => {})
    }
    return this.counted
  }

  #settle(message: FromCode): void {
    if (message.type === 'metrics') {
      this.counted = message.snapshot
      this.#questions.get(message.id ?? 0)?.resolve(undefined)
      this.#questions.delete(message.id ?? 0)
    }
    if (message.type !== 'answer' && message.type !== 'refused') return
    const question = this.#questions.get(message.id)
    this.#questions.delete(message.id)
    if (message.type === 'answer') question?.resolve(message.result)
    else if (message.code === 'QUERY_FAILED') question?.reject(new Error(message.message))
    else question?.reject(new PawlError(message.code as PawlErrorCode, message.message))
  }

  #send(message: ToCode): void {
    // The process may be gone at any time; its end is reported by `exit`.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}

function gone(): PawlError {
  return new PawlError('TRY_LATER', 'the process with the code ended. Send the query again.')
}
