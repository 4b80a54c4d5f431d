// Records what really happened in a simulation: every execution of a step body, every durable result, every lease. The
// checkers compare it with the rows in the store.

import type { Instant } from '../core/base/time.ts'
import { decodeTurn } from '../core/kernel/codec.ts'
import type { Event } from '../core/kernel/event.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { RowTurn, RunChange } from '../core/stores/rules/row.ts'
import type { Claimed, ClaimedRun, Committed, Created, NewRun, Store, TurnCommit } from '../core/stores/store.ts'
import { asItIs, wrapped } from '../core/stores/wrapped.ts'
import type { AdjustableClock } from './adjustable-clock.ts'

export interface Execution {
  readonly runId: string
  /** 1 */
  readonly generation?: number
  readonly key: string
  readonly attempt: number
  readonly process: string
  readonly maxAttempts: number
  /** Whether the store considered the session of this process alive. */
  readonly sessionAlive: boolean
  /** Whether its process began before the last fail-over, and so may hold leases that were lost without knowing it. */
  readonly isOlder: boolean
  /** Position among everything that happened. */
  readonly order: number
}

/** A step body while it runs. */
export interface RunningBody {
  readonly runId: string
  readonly key: string
  readonly process: string
  /** Whether it was aborted, or its process is dead or frozen. */
  isOver(): boolean
}

/** The ledger's state when the store was copied. */
interface Copy {
  readonly durable: ReadonlyMap<string, number>
  readonly epochs: ReadonlyMap<string, number>
  readonly ended: ReadonlySet<string>
  readonly lengths: ReadonlyMap<string, number>
}
const CLAIMS_PER_INSTANT_MAX = 5_000

const nothing: Copy = {
  durable: new Map(),
  epochs: new Map(),
  ended: new Set(),
  lengths: new Map(),
}

export class Ledger {
  readonly executions: Execution[] = []
  /** When the result of each step became durable, as a position in `order`, by run and key. */
  readonly durable = new Map<string, number>()
  /** Message ids by run, in the order the store accepted them. */
  readonly accepted = new Map<string, readonly string[]>()
  readonly violations: string[] = []
  readonly trace: string[] = []
  readonly #clock: Clock
  readonly #epochs = new Map<string, number>()
  readonly #histories = new Map<string, string[]>()
  readonly #ended = new Set<string>()
  /** When each timer may fire: in true time, and by the store's clock. */
  readonly #timers = new Map<string, { readonly at: Instant; readonly until: Instant }>()
  readonly #bodies = new Map<string, RunningBody[]>()
  /** Until when the last renewal of each worker is valid, in true time. */
  readonly #renewals = new Map<string, Instant>()
  readonly #begunAt = new Map<string, Instant>()
  #failedOverAt = Number.NEGATIVE_INFINITY
  #copy: Copy | undefined
  failOvers = 0
  #order = 0
  #claims = { at: 0, count: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(text: string): void {
    this.trace.push(`${this.#clock.now()} ${text}`)
  }

  violate(what: string): void {
    this.violations.push(what)
    this.note(`VIOLATION ${what}`)
  }

  executed(execution: Omit<Execution, 'order' | 'isOlder'>): void {
    const { runId, key, attempt, process } = execution
    const isOlder = (this.#begunAt.get(process) ?? 0) <= this.#failedOverAt
    this.executions.push({ ...execution, isOlder, order: this.#order++ })
    this.note(`${process} runs ${key} of ${short(runId)}, attempt ${attempt}`)
  }

  /** INV6: no process begins a body that is running. Call the returned function when the body has ended. */
  begins(body: RunningBody): () => void {
    // After a fail-over a lease may be granted twice, and its first holder cannot know that yet.
    if (this.failOvers > 0) return () => {}
    const { runId, key } = body
    const id = `${runId} ${key}`
    const others = this.#bodies.get(id)?.filter((each) => !each.isOver()) ?? []
    for (const each of others) this.violate(`INV6: ${body.process} began ${id} while it was running in ${each.process}`)
    this.#bodies.set(id, [...others, body])
    return () => {
      const left = this.#bodies.get(id)?.filter((each) => each !== body) ?? []
      this.#bodies.set(id, left)
    }
  }

  renewed(worker: string, ttlMs: number): void {
    this.#renewals.set(worker, this.#clock.now() + ttlMs)
    if (!this.#begunAt.has(worker)) this.#begunAt.set(worker, this.#clock.now())
  }

  /** Whether the last renewal of a worker is still valid, by true time. */
  isGood(worker: string): boolean {
    return (this.#renewals.get(worker) ?? 0) > this.#clock.now()
  }

  /** Called when the store is copied. */
  copy(): void {
    this.#copy = {
      durable: new Map(this.durable),
      epochs: new Map(this.#epochs),
      ended: new Set(this.#ended),
      lengths: new Map([...this.#histories].map(([id, history]) => [id, history.length])),
    }
  }

  /** Called when the store is restored from its copy. Whatever happened since may happen again. */
  failOver(): void {
    this.failOvers++
    this.#failedOverAt = this.#clock.now()
    const { durable, epochs, ended, lengths } = this.#copy ?? nothing
    refill(this.durable, durable)
    refill(this.#epochs, epochs)
    this.#ended.clear()
    for (const runId of ended) this.#ended.add(runId)
    for (const [id, history] of this.#histories) history.length = lengths.get(id) ?? 0
    // The store has lost attempts and leases, so executions are counted anew and running bodies are not tracked.
    this.executions.length = 0
    this.#bodies.clear()
  }

  /** Wraps the true store, below all faults, and records what it did. */
  watch(store: Store, clock: AdjustableClock): Store {
    return wrapped(store, asItIs, {
      renew: async (beat) => {
        const renewed = await store.renew(beat)
        if (renewed.alive) this.renewed(beat.worker, beat.ttlMs)
        return renewed
      },
      create: async (runs) => this.#created(runs, await store.create(runs), clock),
      post: async (posts) => {
        const posted = await store.post(posts)
        for (const [index, { runId, message }] of posts.entries()) {
          const outcome = posted[index]?.outcome
          this.note(`post ${message.id} to ${short(runId)}: ${outcome}`)
          if (outcome === 'accepted') this.#accept(runId, message.id)
        }
        return posted
      },
      claim: async (request) => {
        if (this.#standsStill()) return new Promise(() => {})
        return this.#claimed(await store.claim(request))
      },
      commit: async (turns) => this.#committed(turns, await store.commit(turns), clock),
    })
  }

  /** Records a change of a run, for a store that shows each change when it becomes durable. */
  changed({ runId, born, posted, turns, set }: RunChange, clock: AdjustableClock): void {
    if (born) this.note(`create ${short(runId)}`)
    if (set?.endedAt === null) this.#ended.delete(runId)
    for (const { id } of posted ?? []) {
      this.note(`post ${id} to ${short(runId)}`)
      this.#accept(runId, id)
    }
    for (const turn of turns ?? []) {
      this.note(`turn ${short(runId)} epoch ${turn.epoch} seq ${turn.seq}+${turn.count}`)
      this.#applied(runId, turn, clock)
    }
    if (set?.endedAt) this.#ended.add(runId)
    if (set?.epoch) {
      this.note(`grant ${short(runId)} epoch ${set.epoch}`)
      this.#epochs.set(runId, set.epoch)
    }
  }

  // Reports a worker that claims again and again at one instant, and stops answering it, so that the simulation ends.
  #standsStill(): boolean {
    const now = this.#clock.now()
    this.#claims = this.#claims.at === now ? { at: now, count: this.#claims.count + 1 } : { at: now, count: 1 }
    if (this.#claims.count === CLAIMS_PER_INSTANT_MAX)
      this.violate(`livelock: ${CLAIMS_PER_INSTANT_MAX} claims at one instant`)
    return this.#claims.count >= CLAIMS_PER_INSTANT_MAX
  }

  // A message may be accepted again after it was consumed; its first place in the order counts.
  #accept(runId: string, messageId: string): void {
    const order = this.accepted.get(runId) ?? []
    if (!order.includes(messageId)) this.accepted.set(runId, [...order, messageId])
  }

  #created(runs: readonly NewRun[], created: readonly Created[], clock: AdjustableClock): readonly Created[] {
    for (const [index, { runId, generation = 1, past, message }] of runs.entries()) {
      const each = created[index]
      this.note(`create ${short(runId)}: ${each?.outcome}`)
      if (message && each?.outcome === 'existing' && each.posted === 'accepted') this.#accept(each.runId, message.id)
      if (each?.outcome !== 'created') continue
      if (message) this.#accept(runId, message.id)
      // A new generation reopens a run that had ended.
      this.#ended.delete(runId)
      if (past) {
        const epoch = this.#epochs.get(runId) ?? 0
        this.#applied(runId, { seq: 0, epoch, generation, ...past }, clock)
      }
      if (each.run) this.#granted(each.run)
    }
    return created
  }

  #claimed(claimed: Claimed): Claimed {
    for (const run of claimed.runs) this.#granted(run)
    return claimed
  }

  #granted({ head, lease, deliveries }: ClaimedRun): void {
    this.note(`grant ${short(head.runId)} epoch ${lease.epoch}, delivery ${deliveries}`)
    this.#epochs.set(head.runId, Math.max(lease.epoch, this.#epochs.get(head.runId) ?? 0))
  }

  #committed(
    turns: readonly TurnCommit[],
    committed: readonly Committed[],
    clock: AdjustableClock,
  ): readonly Committed[] {
    for (const [index, turn] of turns.entries()) {
      const outcome = committed[index]?.outcome
      const epoch = turn.lease.epoch
      this.note(
        `commit ${short(turn.runId)} epoch ${epoch} seq ${turn.seq}+${turn.count} ${turn.next.type}: ${outcome}`,
      )
      if (outcome !== 'applied') continue
      this.#applied(turn.runId, { ...turn, epoch }, clock)
      if (turn.next.type === 'continue') {
        const generation = turn.generation + 1
        this.#applied(turn.runId, { seq: 0, epoch, generation, ...turn.next.past }, clock)
      }
      if (turn.next.type === 'end') this.#ended.add(turn.runId)
    }
    return committed
  }

  #applied(runId: string, turn: RowTurn, clock: AdjustableClock): void {
    const newest = this.#epochs.get(runId) ?? 0
    if (turn.epoch < newest) this.violate(`INV5: epoch ${turn.epoch} wrote after ${newest} was granted: ${runId}`)
    if (this.#ended.has(runId)) this.violate(`INV12: a turn was added to a run that had ended: ${runId}`)
    const events = turn.body === '' ? [] : decodeTurn(turn.body).events
    const { generation = 1 } = turn
    const id = inGeneration(runId, generation)
    const history = this.#histories.get(id) ?? []
    if (turn.seq !== history.length) this.violate(`INV3: a turn begins at ${turn.seq} after ${history.length} events`)
    history.push(...events.map((event) => JSON.stringify(event)))
    this.#histories.set(id, history)
    for (const event of events) this.#recorded(id, event, clock)
  }

  #recorded(id: string, event: Event, clock: AdjustableClock): void {
    const order = this.#order++
    if (event.type === 'StepCompleted') this.durable.set(`${id} ${event.key}`, order)
    if (event.at > clock.latest) this.violate(`INV8: an event is stamped in the future: ${event.type}`)
    if ('key' in event) this.#timed(`${id} ${event.key}`, event, clock)
  }

  // A timer is early if it fires before its time by the store's clock and before its duration has passed in true time.
  #timed(timer: string, event: Event, clock: AdjustableClock): void {
    const at = this.#clock.now()
    if (event.type === 'TimerStarted') {
      this.#timers.set(timer, { at: at + event.until - event.at, until: event.until })
    } else if (event.type === 'TimerFired') {
      const set = this.#timers.get(timer)
      if (set && at < set.at && clock.latest < set.until)
        this.violate(`INV8: timer ${timer} fired ${set.at - at} ms early`)
    }
  }

  /** The events written to a run, in order, as text. */
  history(runId: string, generation = 1): readonly string[] {
    return this.#histories.get(inGeneration(runId, generation)) ?? []
  }

  now(): Instant {
    return this.#clock.now()
  }
}

function refill<Key, Value>(map: Map<Key, Value>, from: ReadonlyMap<Key, Value>): void {
  map.clear()
  for (const [key, value] of from) map.set(key, value)
}

/** Names a generation of a run; the first has the run's own id. */
export function inGeneration(runId: string, generation: number): string {
  return generation === 1 ? runId : `${runId}/${generation}`
}

export function short(runId: string): string {
  return runId.slice(-6)
}
