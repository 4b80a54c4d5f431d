// Builders for cases, with defaults that a case overrides where it matters. Sessions, nonces and turn ids are as large
// as real ones, so that a store which keeps them in 32 bits, or reads them back as text, fails everywhere.
import type {
  Claimed,
  ClaimedRun,
  ClaimedTask,
  ClaimRequest,
  Committed,
  Created,
  InitialTurn,
  NewRun,
  NewTask,
  Next,
  Post,
  Renewed,
  RunSnapshot,
  SessionBeat,
  Store,
  StoredTurn,
  TaskOutcome,
  TaskSnapshot,
  TurnCommit,
} from '../../core/stores/store.ts'
import type { Fixture } from './case.ts'
import { holds, only, present } from './check.ts'
import { idFor } from './labels.ts'

const LARGE = 2 ** 47
/** Long enough that no session expires in a case that is not about sessions. */
export const TTL_MS = 3_600_000

export const ALICE = LARGE + 1
export const BOB = LARGE + 2
export const CAROL = LARGE + 3

let drawn = 0
/** Returns a number that no other nonce or turn id of the process has. */
export function fresh(): number {
  return LARGE + 1_000 + drawn++
}

/** By default a run without a workflow id of its own: its workflow id is its run id. */
export function newRun(runId: string, overrides: Partial<NewRun> = {}): NewRun {
  return {
    runId,
    name: 'order',
    queue: 'default',
    priority: 0,
    workflowId: idFor(runId),
    reuse: 'allow',
    input: '{"json":1}',
    digest: 'digest-1',
    ...overrides,
  }
}

export function message(id: string): Post['message'] {
  return { id, body: `{"message":"${id}"}` }
}

export function postTo(runId: string, id: string): Post {
  return { runId, message: message(id) }
}

export function newTask(taskId: string, overrides: Partial<NewTask> = {}): NewTask {
  const body = `{"task":"${taskId}"}`
  return { taskId, name: 'charge', queue: 'default', priority: 0, body, ...overrides }
}

export function turn(run: ClaimedRun, overrides: Partial<TurnCommit> = {}): TurnCommit {
  const turnId = fresh()
  return {
    runId: run.head.runId,
    lease: run.lease,
    generation: run.head.generation,
    turnId,
    seq: run.seq,
    count: 1,
    at: run.head.createdAt,
    body: `{"turn":${turnId}}`,
    consumed: [],
    outbox: [],
    tasks: [],
    dropped: [],
    next: { type: 'hold' },
    ...overrides,
  }
}

export function released(wakeAt?: number): Next {
  return { type: 'release', status: 'waiting', ...(wakeAt !== undefined && { wakeAt }) }
}

export const ended: Next = { type: 'end', status: 'completed' }

/** The first turn of a generation, or of a run that is created with a history. */
export function beginning(count = 1): InitialTurn {
  const turnId = fresh()
  return { turnId, count, body: `{"begins":${turnId}}` }
}

export function continued(past = beginning()): Next {
  return { type: 'continue', past }
}

export function pausedBy(build: string): Next {
  return { type: 'pause', build, failure: '{"message":"met a failure"}' }
}

/** Restarts an existing run as its next generation. */
export function again(runId: string, generation: number, past = beginning()): NewRun {
  return newRun(runId, { generation, past })
}

export function beat(session: number, overrides: Partial<SessionBeat> = {}): SessionBeat {
  const worker = `worker ${session - LARGE}`
  return { session, worker, beat: 1, ttlMs: TTL_MS, tasks: [], about: '{}', ...overrides }
}

export async function openSession(store: Store, session = ALICE, ttlMs = TTL_MS): Promise<Renewed> {
  const renewed = await store.renew(beat(session, { ttlMs }))
  holds(renewed.alive, 'a session that opens is alive')
  return renewed
}

export function request(session: number, overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    session,
    silent: [],
    nonce: fresh(),
    build: 'build-1',
    queues: ['default'],
    workflows: null,
    activities: null,
    runs: 10,
    suspects: 0,
    tasks: 10,
    held: [],
    heldTasks: [],
    ...overrides,
  }
}

/** A claim by a worker that has watched all sessions long enough: those that have expired are silent. */
export async function claim(store: Store, overrides: Partial<ClaimRequest> = {}, session = ALICE): Promise<Claimed> {
  const loaded = only(await store.load([{ type: 'sessions' }]), 'answers to one load')
  holds(loaded.type === 'sessions', 'a question about sessions is answered with sessions')
  const silent = loaded.sessions.filter(({ expiresAt }) => expiresAt <= loaded.now)
  return store.claim(request(session, { silent, ...overrides }))
}

/** Claims nothing, but frees the leases of dead sessions and completes deliveries, as every claim does. */
export async function sweep(store: Store, session = ALICE): Promise<Claimed> {
  return claim(store, { runs: 0, tasks: 0 }, session)
}

export async function created(store: Store, run: NewRun): Promise<Created> {
  return only(await store.create([run]), 'answers to one create')
}

/** Restarts an ended or paused run; false if the store keeps it for reading only. */
export async function reopen(store: Store, past: InitialTurn = beginning(), runId = 'run'): Promise<boolean> {
  const answer = await created(store, again(runId, 2, past))
  if (answer.outcome === 'refused' && answer.archived) return false
  holds(answer.outcome === 'created', `the run begins again, it is not ${answer.outcome}`)
  return true
}

/** Opens the session, creates the run and claims it. */
export async function hold(
  store: Store,
  runId = 'run',
  overrides: Partial<NewRun> = {},
  session = ALICE,
): Promise<ClaimedRun> {
  await openSession(store, session)
  await store.create([newRun(runId, overrides)])
  return take(store, runId, session)
}

/** Claims and expects exactly this run. */
export async function take(store: Store, runId: string, session = ALICE): Promise<ClaimedRun> {
  const { runs } = await claim(store, { suspects: 10 }, session)
  const run = only(runs, `runs claimed when '${runId}' is due`)
  holds(run.head.runId === runId, `expected to claim '${runId}', got '${run.head.runId}'`)
  return run
}

export async function commit(store: Store, one: TurnCommit): Promise<Committed> {
  return only(await store.commit([one]), 'answers to one commit')
}

/** Commits a turn that must be applied. */
export async function apply(store: Store, one: TurnCommit): Promise<void> {
  const { outcome } = await commit(store, one)
  holds(outcome === 'applied', `the turn should be applied, but it is ${outcome}`)
}

export async function release(store: Store, run: ClaimedRun, wakeAt?: number): Promise<void> {
  await apply(store, turn(run, { next: released(wakeAt) }))
}

/** Opens a session that claims and then expires. The session of the sweeper must be open. */
export async function dieHolding(
  { store, clock }: Fixture,
  overrides: Partial<ClaimRequest> = {},
  sweeper = ALICE,
): Promise<Claimed> {
  const session = fresh()
  await openSession(store, session, 1_000)
  const claimed = await claim(store, overrides, session)
  await clock.advance(1_000)
  await sweep(store, sweeper)
  return claimed
}

/** Commits tasks to a held run, and claims them. */
export async function holdTasks(
  store: Store,
  run: ClaimedRun,
  tasks: readonly NewTask[],
  session = ALICE,
): Promise<readonly ClaimedTask[]> {
  await apply(store, turn(run, { tasks, next: released() }))
  return (await claim(store, { runs: 0 }, session)).tasks
}

/** Creates a run with one task, claims the task, and releases the run. */
export async function holdTask(store: Store, taskId = 'task', session = ALICE): Promise<ClaimedTask> {
  const run = await hold(store, 'run', {}, session)
  return only(await holdTasks(store, run, [newTask(taskId)], session), 'claimed tasks')
}

export function done(task: ClaimedTask, messageId = `task:${task.taskId}`): TaskOutcome {
  const { taskId, lease } = task
  return { taskId, lease, result: { type: 'done', message: message(messageId) } }
}

export function retried(task: ClaimedTask, delayMs: number, failed = 1): TaskOutcome {
  const { taskId, lease } = task
  const failure = '{"message":"declined"}'
  return { taskId, lease, result: { type: 'retry', delayMs, failed, failure } }
}

export function returned({ taskId, lease }: ClaimedTask): TaskOutcome {
  return { taskId, lease, result: { type: 'return' } }
}

export async function find(store: Store, runId: string): Promise<RunSnapshot | undefined> {
  const loaded = only(await store.load([{ type: 'run', runId }]), 'answers to one load')
  holds(loaded.type === 'run', 'a question about a run is answered with a run')
  return loaded.run
}

export async function snapshot(store: Store, runId: string): Promise<RunSnapshot> {
  return present(await find(store, runId), `run '${runId}'`)
}

export async function history(store: Store, runId: string, after = 0, turns = 1_000): Promise<readonly StoredTurn[]> {
  const loaded = only(await store.load([{ type: 'history', runId, after, turns }]), 'answers')
  holds(loaded.type === 'history', 'a question about history is answered with history')
  return loaded.turns
}

/** All turns of one generation. */
export async function generationOf(store: Store, runId: string, generation: number): Promise<readonly StoredTurn[]> {
  const ask = { type: 'history', runId, generation, after: 0, turns: 1_000 } as const
  const loaded = only(await store.load([ask]), 'answers to one load')
  holds(loaded.type === 'history', 'a question about history is answered with history')
  return loaded.turns
}

export async function tasksOf(store: Store, runId: string): Promise<readonly TaskSnapshot[]> {
  const loaded = only(await store.load([{ type: 'tasks', runId }]), 'answers to one load')
  holds(loaded.type === 'tasks', 'a question about tasks is answered with tasks')
  return loaded.tasks
}

export function idsOf(runs: readonly { readonly head: { readonly runId: string } }[]): string[] {
  return runs.map((run) => run.head.runId)
}

export function messageIds(messages: readonly { readonly id: string }[]): string[] {
  return messages.map((each) => each.id)
}

/** `prefix-00`, `prefix-01` …, so that texts sort in the order of their numbers. */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(2, '0')}`)
}
