// What really happened in a simulation, seen from outside: every execution of a step body, every durable result,
// every lease. The checkers compare it with what the store says.
import { decodeTurn } from '../kernel/codec.ts'
import type { Event, Instant } from '../kernel/event.ts'
import type { Clock } from '../runtime/clock.ts'
import type { RowTurn, RunChange } from '../stores/rows/row.ts'
import type {
  Claimed,
  ClaimedRun,
  Committed,
  Created,
  NewRun,
  Store,
  TurnCommit,
} from '../stores/store.ts'
import { asItIs, wrapped } from '../stores/wrapped.ts'

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
  /** Position among everything that happened. */
  readonly order: number
}

export class Ledger {
  readonly executions: Execution[] = []
  /** When the result of a step became durable, by run and key. */
  readonly durable = new Map<string, number>()
  /** Message ids by run, in the order the store accepted them. */
  readonly accepted = new Map<string, readonly string[]>()
  readonly violations: string[] = []
  readonly trace: string[] = []
  readonly #clock: Clock
  readonly #epochs = new Map<string, number>()
  readonly #histories = new Map<string, string[]>()
  readonly #ended = new Set<string>()
  #order = 0

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

  executed(execution: Omit<Execution, 'order'>): void {
    const { runId, key, attempt, process } = execution
    this.executions.push({ ...execution, order: this.#order++ })
    this.note(`${process} runs ${key} of ${short(runId)}, attempt ${attempt}`)
  }

  /** Wraps the true store, below all faults, and writes down what it did. */
  watch(store: Store): Store {
    return wrapped(store, asItIs, {
      create: async (runs) => this.#created(runs, await store.create(runs)),
      post: async (posts) => {
        const posted = await store.post(posts)
        for (const [index, { runId, message }] of posts.entries()) {
          const outcome = posted[index]?.outcome
          this.note(`post ${message.id} to ${short(runId)}: ${outcome}`)
          if (outcome === 'accepted') this.#accept(runId, message.id)
        }
        return posted
      },
      claim: async (request) => this.#claimed(await store.claim(request)),
      commit: async (turns) => this.#committed(turns, await store.commit(turns)),
    })
  }

  /** Takes down what became of a run, where a store shows it as it becomes durable. */
  changed({ runId, born, posted, turns, set }: RunChange): void {
    if (born) this.note(`create ${short(runId)}`)
    if (set?.endedAt === null) this.#ended.delete(runId)
    for (const { id } of posted ?? []) {
      this.note(`post ${id} to ${short(runId)}`)
      this.#accept(runId, id)
    }
    for (const turn of turns ?? []) {
      this.note(`turn ${short(runId)} epoch ${turn.epoch} seq ${turn.seq}+${turn.count}`)
      this.#applied(runId, turn)
    }
    if (set?.endedAt) this.#ended.add(runId)
    if (set?.epoch) {
      this.note(`grant ${short(runId)} epoch ${set.epoch}`)
      this.#epochs.set(runId, set.epoch)
    }
  }

  // The same message may be accepted again once it was taken; it counts where it came first.
  #accept(runId: string, messageId: string): void {
    const order = this.accepted.get(runId) ?? []
    if (!order.includes(messageId)) this.accepted.set(runId, [...order, messageId])
  }

  #created(runs: readonly NewRun[], created: readonly Created[]): readonly Created[] {
    for (const [index, { runId, generation = 1, past }] of runs.entries()) {
      const each = created[index]
      this.note(`create ${short(runId)}: ${each?.outcome}`)
      if (each?.outcome !== 'created') continue
      // A run that had ended begins again.
      this.#ended.delete(runId)
      if (past) {
        const epoch = this.#epochs.get(runId) ?? 0
        this.#applied(runId, { seq: 0, epoch, generation, ...past })
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

  #committed(turns: readonly TurnCommit[], committed: readonly Committed[]): readonly Committed[] {
    for (const [index, turn] of turns.entries()) {
      const outcome = committed[index]?.outcome
      const epoch = turn.lease.epoch
      this.note(
        `commit ${short(turn.runId)} epoch ${epoch} seq ${turn.seq}+${turn.count} ${turn.next.type}: ${outcome}`,
      )
      if (outcome !== 'applied') continue
      this.#applied(turn.runId, { ...turn, epoch })
      if (turn.next.type === 'continue') {
        const generation = turn.generation + 1
        this.#applied(turn.runId, { seq: 0, epoch, generation, ...turn.next.past })
      }
      if (turn.next.type === 'end') this.#ended.add(turn.runId)
    }
    return committed
  }

  #applied(runId: string, turn: RowTurn): void {
    const newest = this.#epochs.get(runId) ?? 0
    if (turn.epoch < newest)
      this.violate(`INV5: epoch ${turn.epoch} wrote after ${newest} was granted: ${runId}`)
    if (this.#ended.has(runId))
      this.violate(`INV12: a turn was added to a run that had ended: ${runId}`)
    const events = turn.body === '' ? [] : decodeTurn(turn.body).events
    const { generation = 1 } = turn
    const id = inGeneration(runId, generation)
    const history = this.#histories.get(id) ?? []
    if (turn.seq !== history.length)
      this.violate(`INV3: a turn begins at ${turn.seq} after ${history.length} events`)
    history.push(...events.map((event) => JSON.stringify(event)))
    this.#histories.set(id, history)
    for (const event of events) this.#recorded(id, event)
  }

  #recorded(id: string, event: Event): void {
    const order = this.#order++
    if (event.type === 'StepCompleted') this.durable.set(`${id} ${event.key}`, order)
    if (event.at > this.#clock.now())
      this.violate(`INV8: an event is stamped in the future: ${event.type}`)
  }

  /** The events written to a run, in order, as text. */
  history(runId: string, generation = 1): readonly string[] {
    return this.#histories.get(inGeneration(runId, generation)) ?? []
  }

  now(): Instant {
    return this.#clock.now()
  }
}

/** What a run is called in one of its generations; the first is the run itself. */
export function inGeneration(runId: string, generation: number): string {
  return generation === 1 ? runId : `${runId}/${generation}`
}

export function short(runId: string): string {
  return runId.slice(-6)
}
