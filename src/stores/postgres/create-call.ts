// Creates runs: plain ones by cheaper calls of their own, all others by the call that can do everything.
import {
  type ClaimedRun,
  type Created,
  type Hint,
  type NewRun,
  newHead,
  type Posted,
} from '../../core/stores/driver.ts'
import { type ClaimedAnswer, claimedRunsOf } from './claimed-runs.ts'
import { newRun, SEPARATOR } from './commit-call.ts'
import { nameOf } from './functions/index.ts'
import type { Hints } from './hints.ts'
import type { Lanes } from './lanes.ts'

export interface Delivered {
  readonly outcome: Posted['outcome']
  readonly session?: number
}
export interface CreatorPorts {
  readonly schema: string
  readonly hints: Pick<Hints, 'channel' | 'rider' | 'tell'>
  readonly lanes: Lanes
  /** How long so many runs may wait for a lock; `null` in a transaction of the caller. */
  wait(runs: number): number | null
  call<T>(name: string, ...values: unknown[]): Promise<T>
  query<Row>(text: string, values: readonly unknown[], name: string): Promise<Row[]>
}

export class PostgresCreator {
  readonly #ports: CreatorPorts

  constructor(ports: CreatorPorts) {
    this.#ports = ports
  }

  async create(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const [only, another] = runs
    if (only && !another && isPlain(only)) return [await this.#createOne(only)]
    const created = await this.#createMany(runs)
    if (created.some((each) => each.outcome === 'created' && !each.run)) this.#ports.hints.tell([{ type: 'ready' }])
    return created
  }

  // Each kind by the cheapest call that can do it, so that one run with a message does not slow down the others.
  async #createMany(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const times = new Map<string, number>()
    for (const { runId } of runs) times.set(runId, (times.get(runId) ?? 0) + 1)
    const kinds = Map.groupBy(runs, (run) =>
      reachesOut(run) ? 'alone' : isPlain(run) && times.get(run.runId) === 1 ? 'plain' : 'named',
    )
    const answers = new Map<NewRun, Created>()
    const keep = (of: readonly NewRun[], created: readonly Created[]): void => {
      for (const [index, run] of of.entries()) answers.set(run, created[index] as Created)
    }
    const { plain = [], named = [], alone = [] } = Object.fromEntries(kinds)
    if (plain.length > 0) keep(plain, await this.#createPlain(plain))
    // All processes take locks in one order: by workflow id, then by run id.
    const sorted = named.toSorted((a, b) => order(a.workflowId, b.workflowId) || order(a.runId, b.runId))
    if (sorted.length > 0) keep(sorted, await this.#createEach(sorted))
    for (const run of alone) keep([run], await this.#createEach([run]))
    return runs.map((run) => answers.get(run) ?? { outcome: 'conflict', runId: run.runId })
  }

  async #createOne(run: NewRun): Promise<Created> {
    const { runId, digest, input, eager } = run
    const hint = eager ? undefined : this.#ports.hints.rider({ type: 'ready' })
    const { lane, queue, name, priority } = await this.#ports.lanes.of(run)
    const answer = await this.#ports.call<{ now: number; mine: boolean } | null>(
      'create_one',
      ...[runId, lane, queue, name, priority, digest, input],
      ...[eager?.session ?? null, eager?.nonce ?? null],
      ...[this.#ports.hints.channel, hint ?? null],
    )
    if (!answer) return this.#createAnew(run)
    const { now, mine } = answer
    if (!mine) this.#ports.hints.tell([{ type: 'ready' }], hint !== undefined)
    return { outcome: 'created', now, ...(mine && newlyHeld(run, now)) }
  }

  // The id exists, or the lane has another number by now. The general call finds out which.
  async #createAnew(run: NewRun): Promise<Created> {
    this.#ports.lanes.forget()
    const [created] = await this.#createEach([run])
    if (created?.outcome === 'created' && !created.run) this.#ports.hints.tell([{ type: 'ready' }])
    return created as Created
  }

  async #createEach(runs: readonly NewRun[]): Promise<readonly Created[]> {
    interface Answer {
      readonly outcome: Created['outcome']
      readonly runId?: string
      readonly mine?: boolean
      readonly posted?: Posted['outcome'] | null
      readonly alongside?: string | null
      /** The session that holds the run to which a message was posted; 0 if it is free. */
      readonly postedTo?: number | null
    }
    const { now, out } = await this.#ports.call<{ now: number; out: Answer[] }>(
      'create_runs',
      JSON.stringify(runs.map(newRun)),
      this.#ports.wait(runs.length),
    )
    const heard = out.flatMap(({ postedTo }) => (typeof postedTo === 'number' ? [postedTo] : []))
    this.#ports.hints.tell(wakeUps(heard.map((session) => ({ outcome: 'accepted', session }))))
    const old = runs.flatMap((run, index) => {
      const { outcome, mine } = out[index] ?? {}
      return outcome === 'existing' && mine ? [run.runId] : []
    })
    const claimed = old.length === 0 ? new Map() : await this.#claimed(old)
    return runs.map((run, index): Created => {
      const { outcome = 'refused', runId = run.runId } = out[index] ?? {}
      const own = claimed.get(run.runId)
      const held = own === undefined ? {} : { run: own }
      // All that a new run holds is known here.
      const { mine, posted, alongside } = out[index] ?? {}
      if (outcome === 'created') {
        const beside = alongside ? { alongside } : {}
        return { outcome, now, ...(mine && newlyHeld(run, now)), ...beside }
      }
      return outcome === 'existing' ? { outcome, runId, ...held, ...(posted && { posted }) } : { outcome, runId }
    })
  }

  async #claimed(runIds: readonly string[]) {
    const rows = await this.#ports.query<{ answer: ClaimedAnswer }>(
      `select ${nameOf(this.#ports.schema, 'claimed')}($1) as answer`,
      [runIds],
      'claimed',
    )
    const runs = rows.flatMap(({ answer }) => claimedRunsOf(answer))
    return new Map(runs.map((run) => [run.head.runId, run]))
  }

  // In the order of locks. Runs whose ids exist are created again by the general call, which says what they are.
  async #createPlain(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const sorted = runs.toSorted((a, b) => order(a.runId, b.runId))
    const lanes = await Promise.all(sorted.map((run) => this.#ports.lanes.of(run)))
    const column = (values: readonly (string | number)[]): string => `{${values.join(',')}}`
    const answer = await this.#ports.call<{ now: number; new: string[]; mine: string[] } | null>(
      'create_plain',
      column(sorted.map((run) => run.runId)),
      column(lanes.map(({ lane }) => lane)),
      column(sorted.map((run) => run.digest)),
      sorted.map((run) => run.input).join(SEPARATOR),
      column(sorted.map(({ eager }) => eager?.session ?? 0)),
      column(sorted.map(({ eager }) => eager?.nonce ?? 0)),
      JSON.stringify([...new Set(lanes)]),
      this.#ports.wait(runs.length),
    )
    if (!answer) this.#ports.lanes.forget()
    const { now = 0, new: made = [], mine = [] } = answer ?? {}
    const [fresh, held] = [new Set(made), new Set(mine)]
    const rest = sorted.filter((run) => !fresh.has(run.runId))
    const others = rest.length > 0 ? await this.#createEach(rest) : []
    const found = new Map(rest.map((run, index) => [run.runId, others[index]]))
    return runs.map(
      (run) =>
        found.get(run.runId) ?? {
          outcome: 'created',
          now,
          ...(held.has(run.runId) && newlyHeld(run, now)),
        },
    )
  }
}

function newlyHeld(run: NewRun, now: number): { run: ClaimedRun } {
  const { past, message } = run
  const { session = 0, nonce = 0 } = run.eager ?? {}
  return {
    run: {
      head: newHead(run, now),
      lease: { session, epoch: 1, nonce },
      deliveries: 1,
      seq: past?.count ?? 0,
      turnId: past?.turnId ?? 0,
      messages: message ? [message] : [],
    },
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function isPlain(run: NewRun): boolean {
  const { workflowId, runId, parent, extras, attributes, message, generation, past } = run
  const more = [parent, extras, attributes, message, generation, past, run.startAt, run.delayMs]
  return workflowId === runId && more.every((each) => each === undefined)
}

/** True if its creation may also lock another run. */
function reachesOut({ message, displaced, generation }: NewRun): boolean {
  return message !== undefined || displaced !== undefined || generation !== undefined
}

export function wakeUps(delivered: readonly Delivered[]): Hint[] {
  const hints: Hint[] = []
  for (const { outcome, session } of delivered) {
    if (outcome !== 'accepted') continue
    hints.push(session ? { type: 'news', session } : { type: 'ready' })
  }
  return hints
}
