// Watches single runs for the open streams of an engine. All streams share one watcher, and a look is one `load` of all
// runs that a stream waits for. A stream that cannot send waits for nothing, so nothing is read for it.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { type HistoryPage, type Loaded, pageIn, type RunSnapshot, type Why } from '../../core/index.ts'
import { isUnavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Engine } from '../../engine.ts'
import { listen, Pace } from './looks.ts'

/** What a reader has: a snapshot, and all events up to here, read after the snapshot. */
export interface Known {
  readonly run: RunSnapshot
  readonly generation: number
  /** The events of the generation before the next turn. */
  readonly seq: number
}

/** A newer snapshot, and the turns after what was known, read after the snapshot. */
export interface Seen {
  readonly run: RunSnapshot
  readonly page: Page
}

/** Turns, and whether there may be more. */
export interface Page {
  readonly turns: HistoryPage['turns']
  readonly isLast: boolean
}

/** A page of a history that was asked for so many turns. */
export function pageOf(loaded: Loaded | undefined, asked: number): Page {
  const { turns, more } = pageIn(loaded)
  return { turns, isLast: !(more ?? turns.length >= asked) }
}

interface Waiter {
  readonly known: Known
  readonly tell: (seen: Seen | undefined) => void
  readonly fail: (error: unknown) => void
}

interface Watched {
  readonly waiters: Set<Waiter>
  readonly pace: Pace
  lookedAt: number
  dueAt: number
}

type Due = readonly [runId: string, watched: Watched, waiters: readonly Waiter[]]

export class LiveRuns {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #watched = new Map<string, Watched>()
  readonly #whys = new Map<string, Promise<Why | undefined>>()
  #stopListening: (() => void) | undefined
  #timer: { readonly at: number; readonly cancel: () => void } | undefined
  #looking = false

  constructor(engine: Engine) {
    this.#engine = engine
    this.#clock = engine.world.clock
  }

  /** Runs that a stream waits for. */
  get size(): number {
    return this.#watched.size
  }

  /** Resolves with what is new, or undefined after `ms` or when the signal aborts. */
  changed(
    known: Known,
    { signal, ms }: { readonly signal: AbortSignal; readonly ms?: number },
  ): Promise<Seen | undefined> {
    const { runId } = known.run.head
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve(undefined)
      const leave = (): void => {
        cancelTimer()
        signal.removeEventListener('abort', nothing)
        this.#drop(runId, waiter)
      }
      const waiter: Waiter = {
        known,
        tell: (seen) => {
          leave()
          resolve(seen)
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      const nothing = (): void => waiter.tell(undefined)
      const cancelTimer = ms === undefined ? () => {} : this.#clock.after(ms, nothing)
      signal.addEventListener('abort', nothing, { once: true })
      this.#add(runId, waiter)
    })
  }

  /** Why the run makes no progress. Streams that are at the same place share one answer. */
  why({ run, generation, seq }: Known): Promise<Why | undefined> {
    const { runId } = run.head
    const key = `${runId} ${generation}.${seq} ${keyOf(run)} ${stateOf(run)}`
    const asked =
      this.#whys.get(key) ??
      this.#engine
        .get(runId)
        .why()
        .catch((error: unknown) => {
          if (!(error instanceof PawlError)) throw error
          return undefined
        })
        .finally(() => this.#whys.delete(key))
    this.#whys.set(key, asked)
    return asked
  }

  #add(runId: string, waiter: Waiter): void {
    this.#stopListening ??= listen(this.#engine, (heard) => this.#hear(heard))
    const now = this.#clock.monotonic()
    const watched = this.#watched.get(runId) ?? { waiters: new Set(), pace: new Pace(), lookedAt: 0, dueAt: Infinity }
    this.#watched.set(runId, watched)
    watched.waiters.add(waiter)
    // What was announced before this reader waited is seen by a first look soon.
    this.#due(watched, now + limits.livePollMsMin)
  }

  #drop(runId: string, waiter: Waiter): void {
    const watched = this.#watched.get(runId)
    if (!watched?.waiters.delete(waiter) || watched.waiters.size > 0) return
    this.#watched.delete(runId)
    if (this.#watched.size > 0) return
    this.#stopListening?.()
    this.#stopListening = undefined
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #hear(runId: string): void {
    const watched = this.#watched.get(runId)
    if (!watched) return
    const soon = this.#clock.monotonic() + limits.liveHeardMs
    this.#due(watched, Math.max(soon, watched.lookedAt + limits.liveHeardAgainMs))
  }

  #due(watched: Watched, at: number): void {
    if (watched.dueAt <= at) return
    watched.dueAt = at
    this.#arm(at)
  }

  #arm(at: number): void {
    if (this.#looking || at === Infinity || (this.#timer && this.#timer.at <= at)) return
    this.#timer?.cancel()
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => void this.#look())
    this.#timer = { at, cancel }
  }

  async #look(): Promise<void> {
    this.#timer = undefined
    this.#looking = true
    // Runs that are almost due come along, so that there are few looks.
    const now = this.#clock.monotonic()
    const all = [...this.#watched].filter(([, { dueAt }]) => dueAt <= now + limits.livePollMsMin / 2)
    // A waiter that comes during a look may know more than the look.
    const due: Due[] = all.map(([runId, watched]) => [runId, watched, [...watched.waiters]])
    for (const [, watched] of due) {
      watched.lookedAt = now
      watched.dueAt = Infinity
    }
    for (let from = 0; from < due.length; from += limits.batchElements) {
      await this.#lookAt(due.slice(from, from + limits.batchElements))
    }
    this.#looking = false
    this.#arm([...this.#watched.values()].reduce((least, { dueAt }) => Math.min(least, dueAt), Infinity))
  }

  async #lookAt(due: readonly Due[]): Promise<void> {
    const begun = this.#clock.monotonic()
    const changed = new Set<Watched>()
    try {
      for (const watched of await this.#tell(due)) changed.add(watched)
    } catch (error) {
      // After an outage the next look finds what happened meanwhile. Any other error is for the readers.
      if (!isUnavailable(error)) for (const [, , waiters] of due) for (const waiter of waiters) waiter.fail(error)
    }
    const now = this.#clock.monotonic()
    for (const [, watched] of due) {
      const pauseMs = watched.pace.after({ changed: changed.has(watched), tookMs: now - begun })
      watched.dueAt = Math.min(watched.dueAt, now + pauseMs)
    }
  }

  /** Reads the runs, and then their new turns: a turn that is missing here was written after the snapshot. */
  async #tell(due: readonly Due[]): Promise<Watched[]> {
    const { host } = this.#engine
    const runs = await host.load(due.map(([runId]) => ({ type: 'run', runId }) as const))
    const places = due.flatMap(([runId, watched, waiters], index) => {
      const run = runIn(runs[index])
      return groups(waiters, run).map((group) => ({ ...group, runId, watched, run }))
    })
    const asked = places.filter(({ isNew }) => isNew)
    const pages = await host.load(
      asked.map(({ runId, generation, seq: after }) => {
        return { type: 'history', runId, generation, after, turns: limits.livePageTurnsFirst } as const
      }),
    )
    const read = new Map(asked.map((place, at) => [place, pageOf(pages[at], limits.livePageTurnsFirst)]))
    return places.flatMap((place) => {
      const page = read.get(place) ?? { turns: [], isLast: true }
      return tell(place, page) ? [place.watched] : []
    })
  }
}

interface Place {
  readonly runId: string
  readonly run: RunSnapshot | undefined
  readonly waiters: readonly Waiter[]
}

/** Tells the waiters of one place what is new. Returns whether anything was. */
function tell({ run, waiters, runId }: Place, page: Page): boolean {
  let changed = false
  for (const waiter of waiters) {
    if (!run) {
      const message = `run ${runId} is not in this store any more. Its retention has ended, or it was deleted.`
      waiter.fail(new PawlError('RUN_NOT_FOUND', message))
    } else if (page.turns.length > 0 || isNews(run, waiter.known)) {
      changed = true
      waiter.tell({ run, page })
    }
  }
  return changed
}

function isNews(run: RunSnapshot, { run: known, generation }: Known): boolean {
  if (run.head.generation > Math.max(generation, known.head.generation)) return true
  // The same state after a grant is news, too: its reader may have asked for the reason while the run was held.
  return keyOf(run) !== keyOf(known) || stateOf(run) !== stateOf(known)
}

/** Waiters of a run by their places, and whether there may be new turns for them. */
function groups(waiters: readonly Waiter[], run: RunSnapshot | undefined) {
  const found = new Map<string, { generation: number; seq: number; isNew: boolean; waiters: Waiter[] }>()
  for (const waiter of waiters) {
    const { known } = waiter
    const { generation, seq } = known
    const key = `${generation}.${seq}`
    const group = found.get(key) ?? { generation, seq, isNew: false, waiters: [] }
    found.set(key, group)
    group.waiters.push(waiter)
    // Turns are written by holders, and every grant raises the epoch: a run that was not held since has no new turn.
    const isQuiet = run === undefined || (run.session === undefined && keyOf(run) === keyOf(known.run))
    if (!isQuiet) group.isNew = true
  }
  return [...found.values()]
}

function runIn(loaded: Loaded | undefined): RunSnapshot | undefined {
  return loaded?.type === 'run' ? loaded.run : undefined
}

/** Changes whenever a session got or released the run, and when the run ended or began again. */
function keyOf({ head, epoch, session, updatedAt, endedAt }: RunSnapshot): string {
  return `${head.generation} ${epoch} ${session} ${updatedAt} ${endedAt}`
}

/** Changes with what `state` events show. */
function stateOf({ head, status, unread, paused, session }: RunSnapshot): string {
  return JSON.stringify([head.generation, status, unread, paused, session])
}
