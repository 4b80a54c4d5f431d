// Random calls to a store, of every method and with every option. What they name is taken from the rows of a memory
// store that has answered all calls before, so most of them are valid; some are stale, repeated or wrong on purpose.
import { ENDED, type EndedStatus, LIVE, RELEASED } from '../../src/core/kernel/run.ts'
import type { RunRow, TaskRow } from '../../src/core/stores/rules/row.ts'
import type { Tables } from '../../src/core/stores/rules/tables.ts'
import {
  type ClaimRequest,
  type EndedQuery,
  type EndedRun,
  type ListQuery,
  type NewRun,
  type NewTask,
  type Next,
  type Note,
  type Outbound,
  type Post,
  REUSES,
  type RecordOperation,
  type SessionBeat,
  type TaskOutcome,
  type TurnCommit,
} from '../../src/core/stores/store.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { LARGE, RandomDraws } from './random-draws.ts'
import { RandomStreams } from './random-streams.ts'
import { randomTransfers } from './random-transfers.ts'
import type { StoreCall } from './store-call.ts'

const SESSIONS = [1, 2, 3, 4, 5].map((each) => LARGE + each)
const GROUP_BYS = ['name', 'queue', 'status', 'reason', 'pin'] as const
const BUILDS = ['b1', 'b2', 'b3']
const QUEUES = ['q1', 'q2']
const NAMES = ['order', 'refund', 'report']
const STATUSES = [...LIVE, ...ENDED]
const REASONS = ['signal:a', 'signal:b', 'timer', 'failed:Error']

export class RandomCalls {
  readonly #draws: RandomDraws
  readonly #now: () => number
  readonly #tables: () => Tables
  readonly #streams: RandomStreams
  readonly #sent: TurnCommit[] = []
  readonly #workflowIds = ['a', 'b', 'c', 'd', 'e', 'f']

  constructor(random: SeededRandom, now: () => number, tables: () => Tables) {
    this.#draws = new RandomDraws(random)
    this.#now = now
    this.#tables = tables
    this.#streams = new RandomStreams(this.#draws, tables)
  }

  next(): StoreCall {
    const dice = this.#draws.below(100)
    if (dice < 18) return { method: 'create', given: this.#distinct(() => this.#run(), runKeys) }
    if (dice < 28) return { method: 'post', given: this.#distinct(() => this.#post(), postKeys) }
    if (dice < 50) return { method: 'claim', given: this.#claim() }
    if (dice < 78)
      return {
        method: 'commit',
        given: this.#distinct(
          () => this.#turn(),
          (each) => this.#turnKeys(each),
        ),
      }
    if (dice < 85)
      return {
        method: 'settle',
        given: this.#distinct(
          () => this.#outcome(),
          (each) => [each.taskId],
        ),
      }
    if (dice < 87) return { method: 'note', given: this.#distinct(() => this.#note(), noteKeys) }
    if (dice < 89)
      return { method: 'append', given: this.#distinct(() => this.#streams.batch(this.#knownRun()), postKeys) }
    if (dice < 91)
      return {
        method: 'records',
        given: this.#distinct(
          () => this.#record(),
          () => [],
        ),
      }
    if (dice < 95) return { method: 'renew', given: this.#beat() }
    if (dice < 97) return this.#draws.chance(0.7) ? this.#purge() : { method: 'ended', given: this.#endedQuery() }
    if (dice < 99) return { method: 'transfer', given: randomTransfers(this.#draws, this.#tables(), this.#now()) }
    return { method: 'list', given: this.#query() }
  }

  #purge(): StoreCall {
    const one = (): EndedRun | undefined => {
      const ended = [...this.#tables().ended.values()]
      const run = this.#draws.chance(0.9) && ended.length > 0 ? this.#draws.pick(ended) : this.#knownRun()
      const { head, status, endedAt = this.#now() } = run ?? {}
      if (!head) return undefined
      const { runId, name } = head
      return { runId, name, status: status as EndedStatus, endedAt: this.#draws.chance(0.9) ? endedAt : endedAt + 1 }
    }
    // A child and its parent, and runs of one workflow id, depend on each other.
    return { method: 'purge', given: this.#distinct(one, () => ['one']) }
  }

  #endedQuery(): EndedQuery {
    return { minAgeMs: this.#draws.below(2_000), limit: 1 + this.#draws.below(20) }
  }

  /** How far the clock goes before a call. Some jumps outlast a session. */
  pauseMs(): number {
    if (this.#draws.chance(0.03)) return 1_000 + this.#draws.below(6_000)
    return this.#draws.chance(0.5) ? 1 : 1 + this.#draws.below(400)
  }

  // Elements of one batch are independent of each other: in which order a store applies them is its own business.
  #distinct<T>(make: () => T | undefined, keysOf: (item: T) => readonly string[]): T[] {
    const items: T[] = []
    const used = new Set<string>()
    for (let left = this.#draws.chance(0.5) ? 1 : 1 + this.#draws.below(5); left > 0; left--) {
      const item = make()
      const keys = item === undefined ? [] : keysOf(item)
      if (item === undefined || keys.some((key) => used.has(key))) continue
      for (const key of keys) used.add(key)
      items.push(item)
    }
    return items
  }

  #run(): NewRun {
    const known = this.#knownRun()
    if (known && this.#draws.chance(0.15)) return this.#again(known)
    const runId = known && this.#draws.chance(0.08) ? known.head.runId : this.#draws.id()
    const other = known && known.head.runId === runId && this.#draws.chance(0.7) ? known.head : undefined
    const hasName = this.#draws.chance(0.4)
    return {
      runId,
      name: this.#draws.pick(NAMES),
      queue: this.#draws.pick(QUEUES),
      priority: this.#draws.pick([0, 0, 0, 5, -1]),
      workflowId: other?.workflowId ?? (hasName ? this.#draws.pick(this.#workflowIds) : runId),
      reuse: hasName ? this.#draws.pick(REUSES) : 'allow',
      input: this.#draws.body(),
      digest: this.#draws.chance(0.9) ? 'digest-1' : 'digest-2',
      ...this.#draws.maybe(0.2, () => ({ extras: this.#draws.body() })),
      ...this.#draws.maybe(0.3, () => ({ attributes: this.#draws.attributes() })),
      ...this.#draws.maybe(0.1, () => ({
        parent: {
          runId: this.#knownRun()?.head.runId ?? this.#draws.id(),
          generation: 1 + this.#draws.below(3),
          key: 'child:1',
        },
      })),
      ...this.#draws.maybe(0.1, () => ({ past: this.#draws.firstTurn() })),
      ...this.#draws.maybe(0.2, () => ({ message: this.#draws.message() })),
      ...this.#draws.maybe(0.5, () => ({ displaced: this.#draws.message() })),
      ...this.#draws.maybe(0.2, () => this.#start()),
      ...this.#draws.maybe(0.3, () => ({
        eager: { session: this.#draws.pick(SESSIONS), nonce: this.#draws.number() },
      })),
    }
  }

  #again({ head, generation, digest }: RunRow): NewRun {
    const { extras: _, parent: __, createdAt: ___, ...known } = head
    return {
      ...known,
      digest,
      reuse: this.#draws.pick(REUSES),
      generation: generation + (this.#draws.chance(0.8) ? 1 : 0) + (this.#draws.chance(0.1) ? 1 : 0),
      ...this.#draws.maybe(0.95, () => ({ past: this.#draws.firstTurn() })),
      ...this.#draws.maybe(0.3, () => ({ attributes: this.#draws.attributes() })),
    }
  }

  #start(): Pick<NewRun, 'startAt' | 'delayMs'> {
    return this.#draws.chance(0.5)
      ? { startAt: this.#now() + this.#draws.below(3_000) - 500 }
      : { delayMs: this.#draws.below(2_000) }
  }

  #post(): Post {
    const known = this.#knownRun()
    const runId = known && this.#draws.chance(0.95) ? known.head.runId : this.#draws.id()
    const old = known?.inbox.at(0)
    const message = old && this.#draws.chance(0.2) ? old : this.#draws.message()
    return {
      runId,
      message,
      ...this.#draws.maybe(0.1, () => ({ urgent: true as const })),
      ...this.#draws.maybe(0.15, () => ({ resumes: true as const })),
    }
  }

  #claim(): ClaimRequest {
    const session = this.#draws.pick(SESSIONS)
    const held = [...this.#tables().runsDue.heldBy(session)].map(({ head }) => head.runId)
    const heldTasks = [...this.#tables().tasksDue.heldBy(session)].map(({ taskId }) => taskId)
    const some = (ids: string[]): string[] => ids.filter(() => this.#draws.chance(0.8))
    const from = this.#draws.below(40_000)
    return {
      session,
      nonce: this.#draws.number(),
      build: this.#draws.pick(BUILDS),
      queues: this.#draws.chance(0.7) ? QUEUES : [this.#draws.pick(QUEUES)],
      workflows: this.#draws.chance(0.6) ? null : [this.#draws.pick(NAMES), this.#draws.pick(NAMES)],
      activities: this.#draws.chance(0.6) ? null : [this.#draws.pick(NAMES)],
      runs: this.#wanted(),
      tasks: this.#wanted(),
      suspects: this.#draws.chance(0.5) || this.#hasTiedSuspects() ? 0 : this.#wanted(),
      silent: this.#silent(),
      held: some(held),
      heldTasks: some(heldTasks),
      ...this.#draws.maybe(0.3, () => ({
        pins: {
          builds: BUILDS.filter(() => this.#draws.chance(0.5)),
          from,
          to: from + this.#draws.below(40_000),
        },
      })),
      ...this.#draws.maybe(0.15, () => ({ reconcile: true as const })),
    }
  }

  // Which of several rows that became due in the same instant is granted first is not promised.
  #wanted(): number {
    if (this.#draws.chance(0.1)) return 0
    return this.#draws.chance(0.5) && !this.#hasTies() ? 1 + this.#draws.below(3) : 1_000
  }

  #hasTies(): boolean {
    const { live, tasks } = this.#tables()
    const now = this.#now()
    return tie([
      ...this.#placesOf([...live.values()]),
      ...[...tasks.values()].map(({ name, queue, priority, at, session }) => [
        ...['task', name, queue, priority],
        session === 0 ? at : now,
      ]),
    ])
  }

  /** A run that lost a holder before is granted alone, so the place of each such run counts, whatever is wanted. */
  #hasTiedSuspects(): boolean {
    return tie(this.#placesOf([...this.#tables().live.values()].filter(({ deliveries }) => deliveries >= 2)))
  }

  /** The claim itself may free what a session holds: it is due then at once. */
  #placesOf(rows: readonly RunRow[]): unknown[][] {
    const now = this.#now()
    return rows.map(({ head, at, session, paused }) => [
      ...[head.name, head.queue, head.priority],
      ...[session === 0 ? at : Math.min(at, now), !!paused],
    ])
  }

  #silent(): ClaimRequest['silent'] {
    return [...this.#tables().sessions.values()]
      .filter(({ expiresAt }) => this.#draws.chance(expiresAt < this.#now() ? 0.8 : 0.03))
      .map(({ session, beat }) => ({ session, beat: this.#draws.chance(0.95) ? beat : beat + 1 }))
  }

  #turn(): TurnCommit | undefined {
    const [old] = this.#sent.splice(this.#draws.chance(0.08) ? 0 : this.#sent.length, 1)
    if (old) return old
    const held = [...this.#tables().live.values()].filter(({ session }) => session !== 0)
    const row = held.length > 0 && this.#draws.chance(0.93) ? this.#draws.pick(held) : this.#knownRun()
    if (!row) return undefined
    const turn = this.#spoilt(this.#turnOf(row))
    if (this.#draws.chance(0.15)) this.#sent.push(turn)
    return turn
  }

  #turnOf(row: RunRow): TurnCommit {
    const { session, epoch, nonce } = row
    const tasks = [...this.#tables().tasksOf(row.head.runId)]
    const ids = row.inbox.map(({ id }) => id)
    const consumed = this.#draws.chance(0.6) ? ids : ids.filter(() => this.#draws.chance(0.4))
    const next = this.#next(ids.filter((id) => !consumed.includes(id)))
    return {
      runId: row.head.runId,
      lease: { session, epoch, nonce },
      generation: row.generation,
      turnId: this.#draws.number(),
      seq: row.reached,
      count: next.type === 'end' || this.#draws.chance(0.85) ? 1 + this.#draws.below(3) : 0,
      at: this.#now() + (this.#draws.chance(0.05) ? 4_000 + this.#draws.below(8_000) : -this.#draws.below(50)),
      body: this.#draws.body(),
      consumed,
      outbox: this.#draws.chance(0.15) ? [this.#outbound()] : [],
      tasks: this.#draws.chance(0.25) ? [this.#task(tasks), ...(this.#draws.chance(0.3) ? [this.#task([])] : [])] : [],
      dropped: tasks.filter(() => this.#draws.chance(0.15)),
      ...this.#draws.maybe(0.1, () => ({ attributes: this.#draws.attributes() })),
      ...this.#draws.maybe(0.1, () => ({ streams: [this.#streams.turn(), this.#streams.turn()] })),
      ...this.#draws.maybe(0.1, () => ({ compensating: this.#draws.chance(0.6) })),
      ...this.#draws.maybe(0.1, () => ({ pin: this.#draws.pick(BUILDS) })),
      next,
    }
  }

  #next(unread: readonly string[]): Next {
    const dice = this.#draws.below(100)
    if (dice < 35) return { type: 'hold' }
    if (dice < 65) {
      const status = this.#draws.pick(RELEASED)
      const ahead = this.#draws.below(3_000) - 300
      return {
        type: 'release',
        status,
        ...this.#draws.maybe(0.6, () => ({ wakeAt: this.#now() + ahead })),
        ...this.#draws.maybe(0.6, () => ({ reason: this.#draws.pick(REASONS) })),
      }
    }
    if (dice < 77) {
      return {
        type: 'pause',
        failure: this.#draws.body(),
        ...this.#draws.maybe(0.6, () => ({ reason: this.#draws.pick(REASONS) })),
        ...this.#draws.maybe(0.75, () => ({ build: this.#draws.pick(BUILDS) })),
        ...this.#draws.maybe(0.5, () => ({ left: unread.filter(() => this.#draws.chance(0.8)) })),
        ...this.#draws.maybe(0.4, () => ({ uncounted: true as const })),
      }
    }
    if (dice < 92)
      return {
        type: 'end',
        status: this.#draws.pick(ENDED),
        ...this.#draws.maybe(0.6, () => ({ reason: this.#draws.pick(REASONS) })),
      }
    return { type: 'continue', past: this.#draws.firstTurn() }
  }

  #spoilt(turn: TurnCommit): TurnCommit {
    if (!this.#draws.chance(0.08)) return turn
    const { lease } = turn
    const ways: TurnCommit[] = [
      { ...turn, lease: { ...lease, epoch: lease.epoch + 1 } },
      { ...turn, lease: { ...lease, nonce: lease.nonce + 1 } },
      { ...turn, lease: { ...lease, session: 0, nonce: 0 } },
      { ...turn, seq: turn.seq + 1 },
      { ...turn, seq: Math.max(0, turn.seq - 1) },
      { ...turn, generation: turn.generation + 1 },
    ]
    return ways[this.#draws.below(ways.length)] ?? turn
  }

  // A message that one turn of a batch sends may arrive before or after another turn of that batch.
  #turnKeys(turn: TurnCommit): string[] {
    const workflowId = this.#tables().run(turn.runId)?.head.workflowId ?? turn.runId
    const targets = turn.outbox.flatMap((item) => {
      if (item.type === 'start') return [item.run.runId, item.run.workflowId]
      return [item.runId, this.#tables().run(item.runId)?.head.workflowId ?? item.runId]
    })
    return [turn.runId, workflowId, ...targets]
  }

  #outbound(): Outbound {
    if (this.#draws.chance(0.5)) return { type: 'post', ...this.#post() }
    const { eager: _, ...run } = this.#run()
    return { type: 'start', run, otherwise: this.#draws.message() }
  }

  #task(known: readonly string[]): NewTask {
    return {
      taskId: known.length > 0 && this.#draws.chance(0.1) ? this.#draws.pick(known) : this.#draws.id(),
      name: this.#draws.pick(NAMES),
      queue: this.#draws.pick(QUEUES),
      priority: this.#draws.pick([0, 0, 3]),
      body: this.#draws.body(),
    }
  }

  #outcome(): TaskOutcome | undefined {
    const tasks = [...this.#tables().tasks.values()]
    const held = tasks.filter(({ session }) => session !== 0)
    const from: TaskRow[] = held.length > 0 && this.#draws.chance(0.95) ? held : tasks
    if (from.length === 0) return undefined
    const { taskId, session, epoch, nonce } = this.#draws.pick(from)
    const lease = { session, epoch: this.#draws.chance(0.95) ? epoch : epoch + 1, nonce }
    const dice = this.#draws.below(3)
    if (dice === 0) return { taskId, lease, result: { type: 'return' } }
    if (dice === 1) return { taskId, lease, result: { type: 'done', message: this.#draws.message() } }
    const failure = this.#draws.body()
    return {
      taskId,
      lease,
      result: {
        type: 'retry',
        delayMs: this.#draws.below(2_000),
        failed: this.#draws.below(4),
        failure,
      },
    }
  }

  #note(): Note | undefined {
    const known = this.#knownRun()
    if (!known) return undefined
    return {
      runId: known.head.runId,
      generation: known.generation + (this.#draws.chance(0.05) ? 1 : 0),
      key: this.#draws.pick(['k1', 'k2']),
      name: this.#draws.pick(['n1', 'n2']),
      body: this.#draws.body(),
      ...this.#draws.maybe(0.3, () => ({ once: true as const })),
    }
  }

  #record(): RecordOperation {
    const [space, key] = [this.#draws.pick(['s1', 's2']), this.#draws.pick(['x', 'y', 'ä', 'Z', '😀'])]
    if (this.#draws.chance(0.2)) return { type: 'get', space, key }
    if (this.#draws.chance(0.2))
      return {
        type: 'list',
        space,
        limit: 1 + this.#draws.below(3),
        ...this.#draws.maybe(0.5, () => ({ after: key })),
      }
    const there = this.#tables().records.get(space)?.get(key)
    const version = (there?.version ?? 0) - (this.#draws.chance(0.1) ? 1 : 0)
    const writeId = there && this.#draws.chance(0.1) ? there.writeId : this.#draws.number()
    return {
      type: 'put',
      space,
      key,
      version: Math.max(0, version),
      body: this.#draws.body(),
      writeId,
    }
  }

  #beat(): SessionBeat {
    const session = this.#draws.pick(SESSIONS)
    const there = this.#tables().sessions.get(session)
    const tasks = [...this.#tables().tasks.keys()].filter(() => this.#draws.chance(0.3))
    return {
      session,
      worker: `worker ${this.#draws.below(3)}`,
      beat: there && this.#draws.chance(0.9) ? there.beat + 1 : 1,
      ttlMs: this.#draws.pick([900, 3_000, 3_000, 10_000]),
      tasks,
      about: `{"about":${this.#draws.below(3)}}`,
      ...this.#draws.maybe(0.08, () => ({ close: true as const })),
    }
  }

  #query(): ListQuery {
    const known = this.#knownRun()
    const near = known?.head.createdAt ?? 0
    return {
      limit: 1 + this.#draws.below(30),
      ...this.#draws.maybe(0.3, () => ({ names: NAMES.filter(() => this.#draws.chance(0.5)) })),
      ...this.#draws.maybe(0.4, () => ({
        statuses: STATUSES.filter(() => this.#draws.chance(0.4)),
      })),
      ...this.#draws.maybe(0.2, () => ({ workflowId: known?.head.workflowId ?? 'a' })),
      ...this.#draws.maybe(0.2, () => ({ pin: this.#draws.pick(BUILDS) })),
      ...this.#draws.maybe(0.2, () => ({ reason: this.#draws.pick(['signal:', ...REASONS]) })),
      ...this.#draws.maybe(0.1, () => ({
        parentId: known?.head.parent?.runId ?? known?.head.runId ?? this.#draws.id(),
      })),
      ...this.#draws.maybe(0.1, () => ({ workflowIdPrefix: known?.head.workflowId.slice(0, 1) ?? 'a' })),
      ...this.#draws.maybe(0.2, () => ({ createdAfter: near })),
      ...this.#draws.maybe(0.2, () => ({ createdBefore: near + 1 + this.#draws.below(1_000) })),
      ...this.#draws.maybe(0.4, () => ({ attributes: [this.#draws.attributeTest()] })),
      ...(this.#draws.chance(0.2) ? { groupBy: this.#draws.pick(GROUP_BYS) } : this.#counted()),
    }
  }

  #counted(): Pick<ListQuery, 'count' | 'countMost'> {
    return this.#draws.maybe(0.3, () => ({
      count: true as const,
      ...this.#draws.maybe(0.3, () => ({ countMost: 1 + this.#draws.below(10) })),
    }))
  }

  #knownRun(): RunRow | undefined {
    const { live, ended } = this.#tables()
    const rows = [...(this.#draws.chance(0.8) && live.size > 0 ? live : ended).values()]
    return rows.length > 0 ? this.#draws.pick(rows) : undefined
  }
}

function tie(places: readonly unknown[]): boolean {
  return new Set(places.map((place) => JSON.stringify(place))).size < places.length
}

function runKeys(run: NewRun): string[] {
  return [run.runId, run.workflowId]
}

function postKeys({ runId }: Pick<Post, 'runId'>): string[] {
  return [runId]
}

function noteKeys({ runId, key, name }: Note): string[] {
  return [`${runId} ${key} ${name}`]
}
