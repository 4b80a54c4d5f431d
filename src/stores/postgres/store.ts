// pawl on Postgres. Each method is one function call in one transaction; the rules are in the functions.
import type pg from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { type ClaimedColumns, claimedRunOf, claimedTaskOf, type TaskColumns } from '../sql-rows.ts'
import type {
  Claimed,
  ClaimedRun,
  ClaimRequest,
  Committed,
  Created,
  Hint,
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  NewRun,
  Post,
  Posted,
  Renewed,
  SessionBeat,
  Settled,
  Store,
  StoredMessage,
  TaskOutcome,
  Traits,
  TurnCommit,
} from '../store.ts'
import { commitArguments, everydayArguments, SEPARATOR } from './commit-call.ts'
import {
  connectionOptions,
  explain,
  loadDriver,
  migrate,
  type Place,
  placeOf,
} from './connection.ts'
import { Hints } from './hints.ts'
import { PostgresReader } from './read.ts'

export interface PostgresOptions {
  /** Tests: leases and timers follow the given clock instead of the server's. */
  readonly virtualTime?: boolean
}

type ClaimedRow = ClaimedColumns & { readonly messages: StoredMessage[] | null }
interface ClaimAnswer {
  readonly now: number
  readonly dead?: true
  readonly runs: ClaimedRow[] | null
  readonly tasks: TaskColumns[] | null
  readonly outlook: {
    readonly nextDue: number | null
    readonly suspects: boolean
    readonly news: Claimed['news'] | null
  }
}
interface Delivered {
  readonly outcome: Posted['outcome']
  readonly session?: number
}
interface CommitAnswer {
  /** Some run was released with something to do: messages had come meanwhile. */
  readonly ready: boolean
  readonly posted: Delivered[] | null
  readonly refused: { n: number; outcome: string; messages: StoredMessage[] | null }[] | null
}

export class PostgresStore implements Store {
  readonly traits: Traits = { name: 'postgres', durability: 'fsync', lanes: 2, push: true }
  readonly #pool: pg.Pool
  readonly #schema: string
  readonly #clock: Clock
  readonly #virtual: boolean
  readonly #hints: Hints
  readonly #reader: PostgresReader
  readonly #lanes = new Map<string, number>()

  static async open(
    url: string,
    clock: Clock,
    options: PostgresOptions = {},
  ): Promise<PostgresStore> {
    const place = placeOf(url)
    const driver = await loadDriver()
    const types = new driver.TypeOverrides()
    types.setTypeParser(20, Number)
    const pool = new driver.Pool({ ...connectionOptions(place, 'pawl'), max: place.pool, types })
    pool.on('error', () => {})
    try {
      const client = await pool.connect()
      try {
        await migrate(client, place)
      } finally {
        client.release()
      }
    } catch (error) {
      await pool.end()
      throw explain(error)
    }
    const connect = (): pg.Client => new driver.Client(connectionOptions(place, 'pawl hints', true))
    return new PostgresStore(pool, place, clock, options, connect)
  }

  private constructor(
    pool: pg.Pool,
    place: Place,
    clock: Clock,
    options: PostgresOptions,
    connect: () => pg.Client,
  ) {
    this.#pool = pool
    this.#schema = place.schema
    this.#clock = clock
    this.#virtual = options.virtualTime === true
    this.#hints = new Hints({
      connect,
      channel: place.channel,
      clock,
      self: systemRandom.integer(),
    })
    this.#reader = new PostgresReader((text, values) => this.#query(text, values), place.schema)
  }

  async create(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const [only, another] = runs
    if (only && !another && isPlain(only)) return [await this.#createOne(only)]
    const distinct = new Set(runs.map((run) => run.runId)).size === runs.length
    const plain = distinct && runs.every((run) => isPlain(run) && !run.eager)
    const created = plain ? await this.#createPlain(runs) : await this.#createSorted(runs)
    if (created.some((each) => each.outcome === 'created' && !each.run))
      this.#hints.tell([{ type: 'ready' }])
    return created
  }

  async post(messages: readonly Post[]): Promise<readonly Posted[]> {
    const posts = messages.map(({ runId, message, urgent }) => ({
      runId,
      ...message,
      urgent: urgent === true,
    }))
    const delivered = await this.#call<Delivered[]>('post_messages', JSON.stringify(posts))
    this.#hints.tell(wakeUps(delivered))
    return delivered.map(({ outcome }) => ({ outcome }))
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    const answer = await this.#call<ClaimAnswer>('claim', JSON.stringify(request))
    if (answer.dead) return { now: answer.now, runs: [], tasks: [], news: [], dead: true }
    const { nextDue, suspects, news } = answer.outlook
    return {
      now: answer.now,
      runs: (answer.runs ?? []).map((row) => claimedRunOf(row, row.messages ?? [])),
      tasks: (answer.tasks ?? []).map(claimedTaskOf),
      news: news ?? [],
      ...(suspects && { suspects: true }),
      ...(nextDue !== null && { nextDue }),
    }
  }

  async commit(turns: readonly TurnCommit[]): Promise<readonly Committed[]> {
    const everyday = everydayArguments(turns)
    if (everyday && (await this.#call<boolean>('commit_turn', ...everyday))) {
      const applied: Committed[] = [{ outcome: 'applied' }]
      this.#hints.tell(this.#hintsOf(turns, applied))
      return applied
    }
    const answer = await this.#call<CommitAnswer>('commit_turns', ...commitArguments(turns))
    const outcomes: Committed[] = turns.map(() => ({ outcome: 'applied' }))
    for (const { n, outcome, messages } of answer.refused ?? []) {
      outcomes[n - 1] = refusalOf(outcome, messages ?? [])
    }
    const ready: Hint[] = answer.ready ? [{ type: 'ready' }] : []
    this.#hints.tell([...ready, ...wakeUps(answer.posted ?? []), ...this.#hintsOf(turns, outcomes)])
    return outcomes
  }

  async settle(outcomes: readonly TaskOutcome[]): Promise<readonly Settled[]> {
    const given = outcomes.map(({ taskId, lease, result }) => {
      if (result.type !== 'done') return { taskId, ...lease, ...result }
      return { taskId, ...lease, type: result.type, ...result.message }
    })
    const settled = await this.#call<(Settled & { session?: number | null })[]>(
      'settle_tasks',
      JSON.stringify(given),
    )
    const news = settled.map(({ outcome, session }) => ({
      outcome: outcome === 'applied' ? ('accepted' as const) : ('missing' as const),
      session: Number(session ?? 0),
    }))
    this.#hints.tell(wakeUps(news))
    return settled.map(({ outcome }) => ({ outcome }))
  }

  async renew(beat: SessionBeat): Promise<Renewed> {
    const answer = await this.#call<{ now: number; alive: boolean; lost: string[] | null }>(
      'renew',
      JSON.stringify(beat),
    )
    if (beat.close) this.#hints.tell([{ type: 'ready' }])
    return { now: answer.now, alive: answer.alive, lostTasks: answer.lost ?? [] }
  }

  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]> {
    return this.#reader.load(asks, this.#now())
  }

  list(query: ListQuery): Promise<Listed> {
    return this.#reader.list(query, this.#now())
  }

  wake(listener: (hint: Hint) => void): () => void {
    return this.#hints.listen(listener)
  }

  async close(): Promise<void> {
    await this.#hints.close()
    await this.#pool.end()
  }

  async #createOne(run: NewRun): Promise<Created> {
    const { runId, digest, input, eager } = run
    const lease = [eager?.session ?? null, eager?.nonce ?? null]
    const hint = eager ? undefined : this.#hints.rider({ type: 'ready' })
    const given = [runId, await this.#laneOf(run), digest, input, ...lease]
    const answer = await this.#call<{ now: number; mine: boolean } | null>(
      'create_one',
      ...given,
      this.#hints.channel,
      hint ?? null,
    )
    if (!answer) return (await this.#createEach([run]))[0] as Created
    const { now, mine } = answer
    if (!mine) this.#hints.tell([{ type: 'ready' }], hint !== undefined)
    return { outcome: 'created', now, ...(mine && newlyHeld(run, now)) }
  }

  // Locks are taken in one order by everybody: by workflow id, then by run id.
  async #createSorted(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const sorted = runs.toSorted(
      (a, b) => order(a.workflowId, b.workflowId) || order(a.runId, b.runId),
    )
    const created = await this.#createEach(sorted)
    const answers = new Map(sorted.map((run, index) => [run, created[index]]))
    return runs.map((run) => answers.get(run) ?? { outcome: 'conflict', runId: run.runId })
  }

  async #createEach(runs: readonly NewRun[]): Promise<readonly Created[]> {
    type Answer = { outcome: Created['outcome']; runId?: string; mine?: boolean }
    const { now, out } = await this.#call<{ now: number; out: Answer[] }>(
      'create_runs',
      JSON.stringify(runs),
    )
    const old = runs.flatMap((run, index) => {
      const { outcome, mine } = out[index] ?? {}
      return outcome === 'existing' && mine ? [run.runId] : []
    })
    const claimed = old.length === 0 ? new Map() : await this.#claimed(old)
    return runs.map((run, index): Created => {
      const { outcome = 'refused', runId = run.runId } = out[index] ?? {}
      const own = claimed.get(run.runId)
      const held = own === undefined ? {} : { run: own }
      // What was just created holds nothing that is not known here.
      if (outcome === 'created')
        return { outcome, now, ...(out[index]?.mine && newlyHeld(run, now)) }
      return outcome === 'existing' ? { outcome, runId, ...held } : { outcome, runId }
    })
  }

  async #claimed(runIds: readonly string[]) {
    const rows = await this.#query<{ answer: ClaimedRow[] }>(
      `select ${this.#schema}.claimed($1) as answer`,
      [runIds],
    )
    const found = rows[0]?.answer ?? []
    return new Map(found.map((row) => [row.run_id, claimedRunOf(row, row.messages ?? [])]))
  }

  // In the order everybody takes locks in. Ids that are taken are looked at on their own.
  async #createPlain(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const sorted = runs.toSorted((a, b) => order(a.runId, b.runId))
    const lanes = await Promise.all(sorted.map((run) => this.#laneOf(run)))
    const answer = await this.#call<{ now: number; new: string[] }>(
      'create_plain',
      `{${sorted.map((run) => run.runId).join(',')}}`,
      `{${lanes.join(',')}}`,
      `{${sorted.map((run) => run.digest).join(',')}}`,
      sorted.map((run) => run.input).join(SEPARATOR),
    )
    const fresh = new Set(answer.new)
    const taken = sorted.filter((run) => !fresh.has(run.runId))
    const others = taken.length > 0 ? await this.#createEach(taken) : []
    const found = new Map(taken.map((run, index) => [run.runId, others[index]]))
    return runs.map((run) => found.get(run.runId) ?? { outcome: 'created', now: answer.now })
  }

  async #laneOf({ queue, name, priority }: NewRun): Promise<number> {
    const key = JSON.stringify([queue, name, priority])
    const known = this.#lanes.get(key)
    if (known !== undefined) return known
    const text = `select ${this.#schema}.lane_of('run', $1, $2, $3) as lane`
    const [row] = await this.#query<{ lane: number }>(text, [queue, name, priority])
    this.#lanes.set(key, row?.lane ?? 0)
    return row?.lane ?? 0
  }

  #hintsOf(turns: readonly TurnCommit[], outcomes: readonly Committed[]): Hint[] {
    const hints: Hint[] = []
    let ready = false
    for (const [index, { next, tasks, outbox, runId }] of turns.entries()) {
      if (outcomes[index]?.outcome !== 'applied') continue
      ready ||= tasks.length > 0 || outbox.some((item) => item.type === 'start')
      ready ||= next.type === 'release' && next.status === 'running'
      if (next.type === 'end') hints.push({ type: 'ended', runId })
    }
    return ready ? [...hints, { type: 'ready' }] : hints
  }

  #now(): number | null {
    return this.#virtual ? this.#clock.now() : null
  }

  async #call<T>(name: string, ...values: unknown[]): Promise<T> {
    const places = values.map((_, index) => `$${index + 2}`).join(', ')
    const text = `select ${this.#schema}.${name}($1${places && `, ${places}`}) as answer`
    const rows = await this.#query<{ answer: T }>(text, [this.#now(), ...values], name)
    return rows[0]?.answer as T
  }

  async #query<Row>(text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
    try {
      const { rows } = await this.#pool.query({ text, values: [...values], ...(name && { name }) })
      return rows as Row[]
    } catch (error) {
      throw explain(error)
    }
  }
}

function newlyHeld(run: NewRun, now: number): { run: ClaimedRun } {
  const { runId, name, workflowId, queue, priority, input, memo, parent } = run
  const { session = 0, nonce = 0 } = run.eager ?? {}
  const head = { runId, name, workflowId, queue, priority, generation: 1, createdAt: now, input }
  return {
    run: {
      head: { ...head, ...(memo !== undefined && { memo }), ...(parent && { parent }) },
      lease: { session, epoch: 1, nonce },
      deliveries: 1,
      seq: 0,
      messages: [],
    },
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function isPlain(run: NewRun): boolean {
  const { workflowId, runId, parent, memo, startAt, delayMs } = run
  return (
    workflowId === runId &&
    !parent &&
    memo === undefined &&
    startAt === undefined &&
    delayMs === undefined
  )
}

function wakeUps(delivered: readonly Delivered[]): Hint[] {
  const hints: Hint[] = []
  for (const { outcome, session } of delivered) {
    if (outcome !== 'accepted') continue
    hints.push(session ? { type: 'news', session } : { type: 'ready' })
  }
  return hints
}

function refusalOf(outcome: string, messages: readonly StoredMessage[]): Committed {
  switch (outcome) {
    case 'duplicate':
    case 'fenced':
      return { outcome }
    case 'more':
      return { outcome, messages }
    default:
      return { outcome: 'rejected', reason: outcome }
  }
}
