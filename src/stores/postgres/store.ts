// pawl on Postgres. Each method is one function call in one transaction; the rules are in the functions.
import type pg from 'pg'
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { systemRandom } from '../../core/runtime/random.ts'
import type * as seam from '../../core/stores/driver.ts'
import { RowsLocked } from '../../core/stores/driver.ts'
import { claimedTaskOf, type TaskColumns } from '../sql/rows.ts'
import { PostgresCalls } from './calls.ts'
import { type ClaimedAnswer, claimedRunsOf } from './claimed-runs.ts'
import { commitArguments, plainTurnArguments } from './commit-call.ts'
import { connectionOptions, loadDriver } from './connection.ts'
import { type Delivered, PostgresCreator, wakeUps } from './create-call.ts'
import { createIn } from './create-in.ts'
import { Hints } from './hints.ts'
import { Lanes } from './lanes.ts'
import { type Place, placeOf } from './place.ts'
import { poolOf, reach } from './reach.ts'
import { PostgresReader } from './read.ts'
import { Since } from './since.ts'
import { PostgresTransactions } from './transactions.ts'
import { PostgresTransfer } from './transfer.ts'

export interface PostgresOptions {
  /** Tests: leases and timers follow the given clock instead of the server's. */
  readonly virtualTime?: boolean
}

interface ClaimAnswer {
  readonly now: number
  readonly dead?: true
  readonly runs: ClaimedAnswer | null
  readonly tasks: TaskColumns[] | null
  readonly nextDue: number | null
  readonly nextLate: number | null
  readonly suspects: boolean
  readonly news: seam.Claimed['news'] | null
  readonly late: seam.Claimed['late'] | null
  readonly since: number
}
interface RecordAnswer {
  /** Of a put. */
  readonly outcome?: 'applied' | 'conflict'
  readonly records?: readonly seam.StoredRecord[] | null
}
interface CommitAnswer {
  readonly now: number
  /** A run was released that is due, because messages had arrived meanwhile. */
  readonly ready: boolean
  readonly posted: Delivered[] | null
  readonly refused: { n: number; outcome: string; messages: seam.StoredMessage[] | null }[] | null
}

interface PostgresParts {
  readonly pool: pg.Pool
  readonly lists: pg.Pool
  readonly place: Place
  readonly clock: Clock
  readonly now: () => number | null
  readonly calls: PostgresCalls
  readonly lanes: Lanes
  readonly connect: () => pg.Client
  readonly connectEar: (() => pg.Client) | undefined
  readonly isPooled: boolean
  readonly transactions: PostgresTransactions
}

export class PostgresStore implements seam.Store {
  readonly traits: seam.Traits
  readonly #pool: pg.Pool
  readonly #lists: pg.Pool
  readonly #schema: string
  readonly #now: () => number | null
  readonly #calls: PostgresCalls
  readonly #since: Since
  readonly #hints: Hints
  readonly #reader: PostgresReader
  readonly #lanes: Lanes
  readonly #creator: PostgresCreator
  readonly #transactions: PostgresTransactions
  readonly #transfer: PostgresTransfer

  static async open(url: string, clock: Clock, options: PostgresOptions = {}): Promise<PostgresStore> {
    const place = placeOf(url)
    const driver = await loadDriver()
    const { pool, isPooled } = await reach(driver, place, clock)
    const connect = (): pg.Client => new driver.Client(connectionOptions(place, 'pawl hints', isPooled))
    const { listenUrl = isPooled ? undefined : place.url } = place
    const connectEar =
      listenUrl === undefined
        ? undefined
        : (): pg.Client => new driver.Client(connectionOptions({ ...place, url: listenUrl }, 'pawl hints'))
    const own = new driver.Pool({
      ...connectionOptions(place, 'pawl steps', isPooled),
      max: place.pool,
    })
    const lists = poolOf(driver, place, 'pawl lists', isPooled)
    const now = (): number | null => (options.virtualTime ? clock.now() : null)
    const failed = (): void => lanes.forget()
    const calls = new PostgresCalls({ pool, lists, place, clock, now, isPooled, failed })
    const lanes = new Lanes(calls.query.bind(calls), place.schema)
    const transactions = new PostgresTransactions({
      pool: own,
      schema: place.schema,
      isPooled,
      install: () => calls.install(),
    })
    return new PostgresStore({
      pool,
      lists,
      place,
      clock,
      now,
      calls,
      lanes,
      connect,
      connectEar,
      isPooled,
      transactions,
    })
  }

  private constructor({ pool, place, clock, now, calls, lanes, ...parts }: PostgresParts) {
    const push = parts.connectEar !== undefined
    this.traits = { name: 'postgres', durability: 'fsync', lanes: 2, push }
    this.#pool = pool
    this.#lists = parts.lists
    this.#schema = place.schema
    this.#now = now
    this.#calls = calls
    this.#since = new Since(clock)
    this.#hints = new Hints({
      connect: parts.connect,
      connectEar: parts.connectEar,
      isPooled: parts.isPooled,
      channel: place.channel,
      clock,
      self: systemRandom.integer(),
    })
    const query = calls.query.bind(calls)
    this.#lanes = lanes
    this.#transactions = parts.transactions
    this.#creator = new PostgresCreator({
      schema: place.schema,
      hints: this.#hints,
      lanes: this.#lanes,
      wait: (runs) => (runs > 1 ? limits.lockInBatchMsMax : limits.lockMsMax),
      call: calls.call.bind(calls),
      query,
    })
    this.#reader = new PostgresReader(query, place.schema)
    const install = (): Promise<void> => calls.install()
    this.#transfer = new PostgresTransfer({ pool, schema: place.schema, hints: this.#hints, now, install })
  }

  create(runs: readonly seam.NewRun[]): Promise<readonly seam.Created[]> {
    return this.#creator.create(runs)
  }

  createIn(client: seam.SqlClient, runs: readonly seam.NewRun[]): Promise<readonly seam.Created[]> {
    return createIn(client, runs, {
      schema: this.#schema,
      hints: this.#hints,
      lanes: this.#lanes,
      now: this.#now(),
      install: () => this.#calls.install(),
    })
  }

  async post(messages: readonly seam.Post[]): Promise<readonly seam.Posted[]> {
    const posts = messages.map(({ runId, message, urgent, resumes }) => ({
      runId,
      ...message,
      urgent: urgent === true,
      resumes: resumes === true,
    }))
    const delivered = await this.#parted(
      messages,
      ({ runId }) => [runId],
      this.#calls.call<Delivered[]>('post_messages', JSON.stringify(posts)),
    )
    this.#hints.tell(wakeUps(delivered))
    return delivered.map(({ outcome }) => ({ outcome }))
  }

  async claim(request: seam.ClaimRequest): Promise<seam.Claimed> {
    const { since, learn } = this.#since.of(request)
    const answer = await this.#calls.call<ClaimAnswer>('claim', JSON.stringify(request), since)
    if (answer.dead) return { now: answer.now, runs: [], tasks: [], news: [], dead: true }
    const { nextDue, nextLate, suspects, news, late } = answer
    learn(answer.since)
    return {
      now: answer.now,
      runs: answer.runs ? claimedRunsOf(answer.runs) : [],
      tasks: (answer.tasks ?? []).map(claimedTaskOf),
      news: news ?? [],
      ...(suspects && { suspects: true }),
      ...(late && { late }),
      ...(nextDue !== null && { nextDue }),
      ...(nextLate !== null && { nextLate }),
    }
  }

  async commit(turns: readonly seam.TurnCommit[]): Promise<readonly seam.Committed[]> {
    const plain = plainTurnArguments(turns)
    if (plain && (await this.#calls.call<boolean>('commit_turn', ...plain))) {
      const applied: seam.Committed[] = [{ outcome: 'applied' }]
      this.#hints.tell(this.#hintsOf(turns, applied))
      return applied
    }
    const answer = await this.#parted(
      turns,
      writtenBy,
      this.#calls.call<CommitAnswer>('commit_turns', ...commitArguments(turns)),
    )
    const outcomes: seam.Committed[] = turns.map(() => ({ outcome: 'applied' }))
    for (const { n, outcome, messages } of answer.refused ?? []) {
      outcomes[n - 1] = refusalOf(outcome, messages ?? [], answer.now)
    }
    const ready: seam.Hint[] = answer.ready ? [{ type: 'ready' }] : []
    this.#hints.tell([...ready, ...wakeUps(answer.posted ?? []), ...this.#hintsOf(turns, outcomes)])
    return outcomes
  }

  async settle(outcomes: readonly seam.TaskOutcome[]): Promise<readonly seam.TaskSettled[]> {
    const given = outcomes.map(({ taskId, lease, result }) => {
      if (result.type !== 'done') return { taskId, ...lease, ...result }
      return { taskId, ...lease, type: result.type, ...result.message }
    })
    const settled = await this.#parted(
      outcomes,
      ({ taskId }) => [taskId],
      this.#calls.call<(seam.TaskSettled & { session?: number | null })[]>('settle_tasks', JSON.stringify(given)),
    )
    const news = settled.map(({ outcome, session }) => ({
      outcome: outcome === 'applied' ? ('accepted' as const) : ('missing' as const),
      session: Number(session ?? 0),
    }))
    this.#hints.tell(wakeUps(news))
    return settled.map(({ outcome }) => ({ outcome }))
  }

  async note(notes: readonly seam.Note[]): Promise<readonly seam.Noted[]> {
    const answers = await this.#calls.call<{ body: string | null }[]>('note', JSON.stringify(notes))
    return answers.map(({ body }) => (body === null ? {} : { body }))
  }

  ended(query: seam.EndedQuery): Promise<seam.EndedPage> {
    return this.#reader.ended(query, this.#now())
  }

  async purge(runs: readonly seam.EndedRun[]): Promise<readonly seam.Purged[]> {
    const ids = runs.map(({ runId }) => runId)
    const outcomes = await this.#calls.call<seam.Purged['outcome'][]>(
      'purge',
      ids,
      runs.map(({ endedAt }) => endedAt),
    )
    return outcomes.map((outcome) => ({ outcome }))
  }

  async append(batches: readonly seam.StreamBatch[]): Promise<readonly seam.Appended[]> {
    const given = batches.map(({ lease, ...batch }) => ({ ...batch, ...lease }))
    const answers = await this.#parted(
      batches,
      ({ runId, taskId }) => [runId, ...(taskId === undefined ? [] : [taskId])],
      this.#calls.call<{ outcome: seam.Appended['outcome']; offset?: number | null }[]>(
        'append',
        JSON.stringify(given),
      ),
    )
    return answers.map(({ outcome, offset }) => ({ outcome, ...(typeof offset === 'number' && { offset }) }))
  }

  async records(operations: readonly seam.RecordOperation[]): Promise<readonly seam.RecordOutcome[]> {
    const answers = await this.#calls.call<RecordAnswer[]>('records', JSON.stringify(operations))
    if (operations.some(({ type }) => type === 'put')) this.#hints.tell([{ type: 'ready' }])
    return operations.map(({ type }, index) => recordsOf(type, answers[index]))
  }

  transact(of: seam.StepOf, body: (sql: seam.Sql) => Promise<string>): Promise<string> {
    return this.#transactions.run(of, body)
  }

  transfer(operations: readonly seam.TransferOperation[]): Promise<readonly seam.TransferOutcome[]> {
    return Promise.all(operations.map((operation) => this.#transfer.run(operation)))
  }

  async renew(beat: seam.SessionBeat): Promise<seam.Renewed> {
    const answer = await this.#calls.call<{ now: number; alive: boolean; lost: string[] | null }>(
      'renew',
      JSON.stringify(beat),
    )
    if (beat.close) this.#hints.tell([{ type: 'ready' }])
    if (beat.beat === 1 && this.#now() === null) this.#warm()
    return { now: answer.now, alive: answer.alive, lostTasks: answer.lost ?? [] }
  }

  load(asks: readonly seam.LoadAsk[]): Promise<readonly seam.Loaded[]> {
    return this.#reader.load(asks, this.#now())
  }

  list(query: seam.ListQuery): Promise<seam.Listed> {
    return this.#reader.list(query, this.#now())
  }

  wake(listener: (hint: seam.Hint) => void): () => void {
    return this.#hints.listen(listener)
  }

  async close(): Promise<void> {
    await this.#transactions.close()
    await this.#hints.close()
    await Promise.all([this.#pool.end(), this.#lists.end()])
  }

  // A worker starts: its first calls would wait for connections, and for plans that each connection makes once.
  #warm(): void {
    const nothing = commitArguments([])
    for (let lane = 0; lane <= this.traits.lanes; lane++) this.#calls.call('commit_turns', ...nothing).catch(() => {})
  }

  /** If rows are locked, finds out which elements they belong to. Ids are those of runs and of tasks. */
  async #parted<T, Out>(items: readonly T[], idsOf: (item: T) => readonly string[], call: Promise<Out>): Promise<Out> {
    try {
      return await call
    } catch (error) {
      if (!(error instanceof RowsLocked) || items.length === 1) throw error
      const ids = [...new Set(items.flatMap(idsOf))]
      const locked = new Set(await this.#calls.call<string[]>('locked', ids, ids))
      const which = items.flatMap((item, index) => (idsOf(item).some((id) => locked.has(id)) ? [index] : []))
      throw new RowsLocked(error.cause, which)
    }
  }

  #hintsOf(turns: readonly seam.TurnCommit[], outcomes: readonly seam.Committed[]): seam.Hint[] {
    const hints: seam.Hint[] = []
    let ready = false
    for (const [index, { next, tasks, outbox, runId }] of turns.entries()) {
      if (outcomes[index]?.outcome !== 'applied') continue
      ready ||= tasks.length > 0 || outbox.some((item) => item.type === 'start')
      ready ||= next.type === 'release' && next.status === 'running'
      ready ||= next.type === 'continue'
      if (next.type === 'end') hints.push({ type: 'ended', runId })
    }
    return ready ? [...hints, { type: 'ready' }] : hints
  }
}

/** Runs whose rows a turn locks: its own, and those it sends messages to. */
function writtenBy({ runId, outbox }: seam.TurnCommit): string[] {
  return [runId, ...outbox.flatMap((item) => (item.type === 'post' ? [item.runId] : []))]
}

function refusalOf(outcome: string, messages: readonly seam.StoredMessage[], now: number): seam.Committed {
  switch (outcome) {
    case 'ahead':
      return { outcome, now }
    case 'duplicate':
    case 'fenced':
      return { outcome }
    case 'more':
      return { outcome, messages }
    default:
      return { outcome: 'rejected', reason: outcome }
  }
}

function recordsOf(type: seam.RecordOperation['type'], answer: RecordAnswer | undefined): seam.RecordOutcome {
  const records = answer?.records ?? []
  const [record] = records
  if (type === 'list') return { type, records }
  if (type === 'get') return { type, ...(record && { record }) }
  if (answer?.outcome === 'applied') return { type, outcome: 'applied' }
  return { type, outcome: 'conflict', ...(record && { record }) }
}
