// The stream of one run: every event of its history, once and in order, across generations. The position of a client
// names a place in histories that only grow, so any server can continue after it.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import {
  type HistoryEvent,
  type LoadAsk,
  publicEvents,
  publicStart,
  type RunSnapshot,
  turnStart,
} from '../../core/index.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import type { Engine } from '../../engine.ts'
import { type Batches, idOf, type LiveEvent, type LiveState, type Position } from './events.ts'
import { type LiveRuns, type Page, pageOf } from './live-runs.ts'
import { patiently, restAfter } from './looks.ts'

export interface RunStreamOptions {
  readonly after: Position | undefined
  /** What a client sees of an event. */
  readonly shown: (event: HistoryEvent) => HistoryEvent
  readonly signal: AbortSignal
}

/** The stream of a run; undefined if the run has ended and the client has everything. */
export async function runStream(
  engine: Engine,
  live: LiveRuns,
  run: RunSnapshot,
  options: RunStreamOptions,
): Promise<Batches<LiveEvent> | undefined> {
  const { clock } = engine.world
  const until = clock.monotonic() + limits.liveAheadMs
  for (let newest: RunSnapshot | undefined = run; ; newest = await snapshotOf(engine, run.head.runId)) {
    const stream = new RunStream(engine, live, newest ?? run, options)
    // Read before the answer begins, so that an error has a status.
    const first = await stream.read()
    if (stream.isBehindClient && !options.signal.aborted) {
      if (clock.monotonic() >= until) throw ahead(options.after)
      await sleep(clock, limits.livePollMsMin, options.signal)
      continue
    }
    if (!first && stream.isOver && stream.wasEndTold) return undefined
    return stream.batches(first)
  }
}

async function snapshotOf({ host }: Engine, runId: string): Promise<RunSnapshot | undefined> {
  const [loaded] = await host.load([{ type: 'run', runId }])
  return loaded?.type === 'run' ? loaded.run : undefined
}

// Sent on from there, the events up to the position would be missing without a word.
function ahead(after: Position | undefined): PawlError {
  const place = after ? idOf(after) : ''
  const problem = `the position ${place} is after the newest event of the run; expected one that this store has sent`
  return new PawlError('INPUT_INVALID', `${problem}. The store may have lost writes: read the run from its beginning.`)
}

type Events = readonly LiveEvent[]

class RunStream {
  readonly #engine: Engine
  readonly #live: LiveRuns
  readonly #clock: Clock
  readonly #options: RunStreamOptions
  #run: RunSnapshot
  /** The last event that was sent. */
  #at: Position
  /** Where to read from: the events before the next turn. Unknown if the client was in the middle of a turn. */
  #from: number | undefined
  /** True if all events that were there when the snapshot was made have been read. */
  #isDrained = false
  /** The newest event that was read of this generation. */
  #newest = 0
  /** The next page, if the watcher has read it. */
  #given: Page | undefined
  /** How many turns to read at a time: fewer if they are large. */
  #turns: number = limits.livePageTurnsFirst
  #isOpen = false
  readonly #state: { text: string; dueAt: number; isDue: boolean } = { text: '', dueAt: 0, isDue: true }

  constructor(engine: Engine, live: LiveRuns, run: RunSnapshot, options: RunStreamOptions) {
    this.#engine = engine
    this.#live = live
    this.#clock = engine.world.clock
    this.#run = run
    this.#options = options
    this.#at = options.after ?? { generation: 1, seq: -1 }
    this.#from = this.#at.seq <= 0 ? 0 : undefined
  }

  /** True if there will be no more events in this generation, and all were read. */
  get isOver(): boolean {
    const { head, endedAt } = this.#run
    return this.#isDrained && endedAt !== undefined && head.generation === this.#at.generation
  }

  /** True if the client has a position in this generation that is not there yet, or a generation that is not. */
  get isBehindClient(): boolean {
    const { after } = this.#options
    const { head, endedAt } = this.#run
    if (!after || after.generation < head.generation) return false
    const end = endedAt === undefined ? 0 : 1
    return after.generation > head.generation || after.seq > this.#newest + end
  }

  /** True if the client was behind the last event when it came. */
  get wasEndTold(): boolean {
    return this.#at.seq > (this.#from ?? 0)
  }

  async *batches(first: Events | undefined): AsyncGenerator<Events> {
    const { signal } = this.#options
    this.#isOpen = true
    yield* this.#stateIfDue()
    for (let events = first; !signal.aborted; events = await this.read()) {
      if (events) {
        yield events
        continue
      }
      if (this.isOver) {
        yield [this.#end()]
        return
      }
      yield* this.#stateIfDue()
      await this.#wait(signal)
    }
  }

  /** The next events; undefined if there are none at present. */
  async read(): Promise<Events | undefined> {
    for (;;) {
      const gap = this.#gap()
      if (gap) return [gap]
      if (!this.#isDrained) {
        const events = this.#take(await this.#page())
        if (events.length > 0) return events
      } else if (this.#run.head.generation <= this.#at.generation) return undefined
      else await this.#nextGeneration()
    }
  }

  async #page(): Promise<Page> {
    const given = this.#given
    this.#given = undefined
    if (given) return given
    const { generation, seq } = this.#at
    const of = { runId: this.#run.head.runId, generation }
    this.#from ??= await turnStart((asks) => this.#load(asks), of, seq)
    const turns = this.#turns
    const [loaded] = await this.#load([{ type: 'history', ...of, after: this.#from, turns }])
    const page = pageOf(loaded, turns)
    const mean = page.turns.reduce((sum, { body }) => sum + body.length, 1) / Math.max(1, page.turns.length)
    const fitting = Math.min(turns * 2, limits.livePageTurnsMax, Math.floor(limits.livePageLength / mean))
    this.#turns = Math.max(1, fitting)
    return page
  }

  // A client that reads keeps its connection through an outage of the store.
  #load(asks: readonly LoadAsk[]) {
    const load = () => this.#engine.host.load(asks)
    return this.#isOpen ? patiently(this.#clock, this.#options.signal, load) : load()
  }

  #take({ turns, isLast }: Page): Events {
    const { generation, seq } = this.#at
    const isFirst = generation === 1 && seq < 0
    const all = [...(isFirst ? [publicStart(this.#run)] : []), ...turns.flatMap(publicEvents)]
    const events = all.filter((event) => event.seq > seq)
    const last = turns.at(-1)
    if (last) this.#newest = this.#from = last.seq + last.count
    this.#isDrained = !last || isLast
    this.#at = { generation, seq: events.at(-1)?.seq ?? seq }
    return events.map((event) => {
      const id = idOf({ generation, seq: event.seq })
      return { event: 'history', id, data: this.#options.shown(event) }
    })
  }

  /** The generation is over and was read. If it was forgotten meanwhile, not all of it may have been there to read. */
  async #nextGeneration(): Promise<void> {
    const { runId } = this.#run.head
    const [loaded] = await this.#load([{ type: 'run', runId }])
    if (loaded?.type === 'run' && loaded.run) this.#see(loaded.run)
    if (this.#at.generation >= this.#oldest) this.#goTo(this.#at.generation + 1)
  }

  #see(run: RunSnapshot): void {
    this.#run = run
    this.#state.isDue = true
  }

  #gap(): LiveEvent | undefined {
    const { generation: from } = this.#at
    const oldest = this.#oldest
    if (from >= oldest) return undefined
    this.#goTo(oldest)
    return { event: 'gap', id: idOf(this.#at), data: { from, to: oldest - 1 } }
  }

  get #oldest(): number {
    return this.#run.head.generation - limits.generationsKept + 1
  }

  #goTo(generation: number): void {
    this.#at = { generation, seq: 0 }
    this.#from = 0
    this.#isDrained = false
  }

  // The end has the position after the last event, which no event ever gets: the generation is over. So a client that
  // lost its connection just before is told when it comes again, and one that was told gets nothing.
  #end(): LiveEvent {
    const { generation, seq } = this.#at
    return { event: 'end', id: idOf({ generation, seq: seq + 1 }), data: { status: this.#run.status, ...this.#at } }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { isDue, dueAt } = this.#state
    const ms = isDue ? { ms: Math.max(0, dueAt - this.#clock.monotonic()) } : {}
    const known = { run: this.#run, generation: this.#at.generation, seq: this.#from ?? this.#at.seq }
    const seen = await this.#live.changed(known, { signal, ...ms })
    if (!seen) return
    this.#see(seen.run)
    if (seen.page.turns.length === 0) return
    this.#given = seen.page
    this.#isDrained = false
  }

  // The run, and why it makes no progress: seldom, because the reason is worked out from the whole history.
  async *#stateIfDue(): AsyncGenerator<Events> {
    const begun = this.#clock.monotonic()
    const state = this.#state
    if (!state.isDue || begun < state.dueAt) return
    // Before all events were read, the reason is not known.
    state.isDue = !this.#isDrained
    const data = await this.#stateNow()
    const now = this.#clock.monotonic()
    state.dueAt = now + restAfter(now - begun, limits.liveStateMs)
    const text = JSON.stringify(data)
    if (text === state.text) return
    state.text = text
    yield [{ event: 'state', data }]
  }

  async #stateNow(): Promise<LiveState> {
    const { head, status, unread } = this.#run
    const known = { run: this.#run, generation: this.#at.generation, seq: this.#at.seq }
    const isKnown = this.#isDrained && known.seq <= limits.liveWhyEventsMax
    const why = isKnown ? await this.#live.why(known) : undefined
    return { status, generation: head.generation, unread, ...(why && { why }) }
  }
}
