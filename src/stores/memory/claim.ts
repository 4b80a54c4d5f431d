// Who gets what: the claims of the memory store, and what is said along with them.
import type { Instant } from '../../kernel/event.ts'
import type { Claimed, ClaimRequest, Lease } from '../store.ts'
import { hasEnded, type MemoryDatabase, type RunRow, type TaskRow } from './database.ts'

export function claimRuns(database: MemoryDatabase, request: ClaimRequest, now: Instant): RunRow[] {
  const rows = [...database.runs.values()].filter((row) =>
    isMine(row.head, request.queues, request.workflows),
  )
  const strays = rows.filter((row) => isStray(row, request, row.head.runId, request.held))
  if (strays.length > 0) return strays
  const free = rows
    .filter((row) => row.session === 0 && !hasEnded(row) && isDue(row, request.build, now))
    .sort((a, b) => b.head.priority - a.head.priority || a.at - b.at)
  const suspects = chooseSuspects(free, request.suspects)
  const sound = free.filter((row) => row.deliveries === 0)
  const chosen = (suspects.length > 0 ? suspects : sound).slice(0, request.runs)
  for (const row of chosen) grant(row, request.session, request.nonce)
  return chosen
}

export function hasSuspects(
  database: MemoryDatabase,
  request: ClaimRequest,
  now: Instant,
): boolean {
  return [...database.runs.values()].some(
    (row) =>
      row.session === 0 &&
      row.deliveries > 0 &&
      isDue(row, request.build, now) &&
      isMine(row.head, request.queues, request.workflows),
  )
}

export function claimTasks(
  database: MemoryDatabase,
  request: ClaimRequest,
  now: Instant,
): TaskRow[] {
  const rows = [...database.tasks.values()].filter((row) =>
    isMine(row, request.queues, request.activities),
  )
  const strays = rows.filter((row) => isStray(row, request, row.taskId, request.heldTasks))
  if (strays.length > 0) return strays
  const chosen = rows
    .filter((row) => row.session === 0 && row.at <= now)
    .sort((a, b) => b.priority - a.priority || a.at - b.at)
    .slice(0, request.tasks)
  for (const row of chosen) grant(row, request.session, request.nonce)
  return chosen
}

export function newsFor(database: MemoryDatabase, request: ClaimRequest): Claimed['news'] {
  return request.held
    .flatMap((runId) => database.runs.get(runId) ?? [])
    .filter((row) => row.session === request.session && row.inbox.length > 0)
    .map((row) => ({ runId: row.head.runId, messages: [...row.inbox] }))
}

export function nextDue(
  database: MemoryDatabase,
  request: ClaimRequest,
  now: Instant,
): Instant | undefined {
  const { runs, tasks, sessions } = database
  const waiting = [
    ...[...runs.values()].filter(
      (row) => !hasEnded(row) && isMine(row.head, request.queues, request.workflows),
    ),
    ...[...tasks.values()].filter((row) => isMine(row, request.queues, request.activities)),
  ].filter((row) => row.session === 0 && row.at > now)
  const others = [...sessions.values()].filter((row) => row.session !== request.session)
  const next = Math.min(...waiting.map((row) => row.at), ...others.map((row) => row.expiresAt))
  return Number.isFinite(next) ? next : undefined
}

function chooseSuspects(free: readonly RunRow[], count: number): RunRow[] {
  if (count === 0) return []
  const grave = free.find((row) => row.deliveries > 1)
  return grave ? [grave] : free.filter((row) => row.deliveries === 1).slice(0, count)
}

/** A row that somebody may hold. */
interface Leased {
  session: number
  epoch: number
  nonce: number
  deliveries: number
}

export function grant(
  row: Leased & { status?: RunRow['status'] },
  session: number,
  nonce: number,
): void {
  row.session = session
  row.nonce = nonce
  row.epoch++
  row.deliveries++
  if (row.status !== undefined) row.status = 'running'
}

export function release(row: Leased): void {
  row.session = 0
  row.nonce = 0
}

export function isLeasedBy(row: Leased, lease: Pick<Lease, 'session' | 'nonce'>): boolean {
  return row.session === lease.session && row.nonce === lease.nonce
}

function isStray(row: Leased, request: ClaimRequest, id: string, held: readonly string[]): boolean {
  return request.reconcile === true && row.session === request.session && !held.includes(id)
}

function isMine(
  what: { readonly queue: string; readonly name: string },
  queues: readonly string[],
  names: readonly string[] | null,
): boolean {
  return queues.includes(what.queue) && (names === null || names.includes(what.name))
}

function isDue(row: RunRow, build: string, now: Instant): boolean {
  return row.paused === undefined ? row.at <= now : row.paused.build !== build
}
