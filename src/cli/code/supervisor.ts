// Keeps one process with the user's code at work: starts it, replaces it when the code changes, starts it again when it
// dies, and stops it.
import { PawlError } from '../../core/base/errors.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import { type MetricsSnapshot, merged, totalsOf } from '../../metrics/meter.ts'
import { CodeProcess } from './code-process.ts'
import type { CodeSetup, FromCode, Loaded, LoadedFile, Question } from './messages.ts'

const FIRST_PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000
/** A process that lived as long as this begins with the shortest pause again. */
const HEALTHY_MS = 60_000
const HURRY_MS = 2_000

/** What the supervisor tells. */
export interface Reports {
  /** Files that an attempt has loaded, or failed to load. */
  readonly files: (files: readonly LoadedFile[]) => void
  readonly ready: (loaded: Loaded, ms: number) => void
  /** The code does not load; the process before it, if there is one, goes on. */
  readonly failed: (message: string, oldGoesOn: boolean) => void
  readonly died: (ending: string, pauseMs: number) => void
  readonly heard: (message: FromCode) => void
}

export class Supervisor {
  readonly #setup: CodeSetup
  readonly #graceMs: number
  readonly #reports: Reports
  readonly #draining = new Set<CodeProcess>()
  /** What processes that have ended counted. */
  #past: MetricsSnapshot = {}
  #current: CodeProcess | undefined
  #next: CodeProcess | undefined
  #pauseMs = FIRST_PAUSE_MS
  #cancelRestart: () => void = () => {}
  #isStopping = false
  #wasReady = false
  #problem = 'it is being loaded'

  constructor(setup: CodeSetup, graceMs: number, reports: Reports) {
    this.#setup = setup
    this.#graceMs = graceMs
    this.#reports = reports
  }

  /** Starts a process with the code as it is now, in place of the present one. */
  async load(): Promise<void> {
    if (this.#isStopping) return
    this.#cancelRestart()
    this.#next?.kill()
    const begun = systemClock.monotonic()
    const next = new CodeProcess(this.#setup, (message) => this.#hear(message))
    this.#next = next
    const loaded = await next.loaded
    if (this.#next !== next) return
    this.#reports.files(loaded.files)
    if (!loaded.isLoaded) return this.#fail(next, loaded.message)
    next.work()
    const problem = await next.ready
    if (this.#next !== next) return
    if (problem !== undefined) return this.#fail(next, problem)
    this.#replace(next)
    this.#reports.ready(loaded, systemClock.monotonic() - begun)
  }

  #hear(message: FromCode): void {
    if (message.type === 'also') this.#reports.files([message.file])
    else this.#reports.heard(message)
  }

  #fail(next: CodeProcess, message: string): void {
    this.#next = undefined
    next.kill()
    // A process that is started again and again fails with the same message.
    if (message !== this.#problem) this.#reports.failed(message, this.#current !== undefined)
    this.#problem = message
    if (this.#wasReady && !this.#current) this.#restart()
  }

  #restart(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2)
    this.#cancelRestart = systemClock.after(pauseMs, () => void this.load())
    return pauseMs
  }

  #replace(next: CodeProcess): void {
    for (const old of this.#draining) old.drain(HURRY_MS)
    const old = this.#current
    if (old) {
      this.#draining.add(old)
      old.drain(this.#graceMs)
    }
    this.#current = next
    this.#next = undefined
    this.#wasReady = true
    this.#problem = ''
    void next.ended.then((ending) => this.#ended(next, ending))
  }

  #ended(process: CodeProcess, ending: string): void {
    this.#past = merged([this.#past, totalsOf(process.counted)])
    this.#draining.delete(process)
    if (this.#current !== process) return
    this.#current = undefined
    if (this.#isStopping) return
    this.#problem = `its process ended (${ending}) and is started again`
    const lived = systemClock.monotonic() - process.startedAt
    if (lived > HEALTHY_MS) this.#pauseMs = FIRST_PAUSE_MS
    // New code is being loaded already.
    if (this.#next) return
    this.#reports.died(ending, this.#restart())
  }

  /** The code has changed, so that what made it die may be gone. */
  changed(): void {
    this.#pauseMs = FIRST_PAUSE_MS
    this.#problem = 'it is being loaded'
    void this.load()
  }

  /** Asks the code of a run. */
  query(question: Question): Promise<unknown> {
    if (this.#current) return this.#current.query(question)
    return Promise.reject(
      new PawlError('NO_CODE_HERE', `a query is answered by the code of the run, and there is none: ${this.#problem}.`),
    )
  }

  /** The metrics of the processes with the code, also of those that have ended. */
  async metrics(): Promise<readonly MetricsSnapshot[]> {
    const living = [...this.#draining, ...(this.#current ? [this.#current] : [])]
    // One that ends meanwhile counts once.
    const past = this.#past
    return [past, ...(await Promise.all(living.map((each) => each.metrics())))]
  }

  /** Resolves when no process is left. Those that do not end within the grace are killed. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#cancelRestart()
    this.#next?.kill()
    const all = this.#all()
    for (const each of all) each.drain(graceMs)
    await Promise.all(all.map(({ ended }) => ended))
    // Lets what the processes printed last reach the terminal.
    await sleep(systemClock, 0)
  }

  killAll(): void {
    this.#isStopping = true
    this.#cancelRestart()
    for (const each of this.#all()) each.kill()
  }

  #all(): CodeProcess[] {
    return [...this.#draining, ...[this.#current, this.#next].filter((each) => each !== undefined)]
  }
}
