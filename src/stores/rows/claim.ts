// Who gets what, and what is said along with it.
import type { Instant } from '../../kernel/event.ts'
import { limits } from '../../kernel/limits.ts'
import { isLate, lateAt } from '../lateness.ts'
import { BY_HAND, NEVER } from '../never.ts'
import type { Claimed, ClaimRequest, LateSession } from '../store.ts'
import type { Grip, RunRow, TaskRow } from './row.ts'
import type { Transaction } from './transaction.ts'

export function chooseRuns(tx: Transaction, request: ClaimRequest): RunRow[] {
  const strays: RunRow[] = []
  const free: RunRow[] = []
  for (const row of tx.liveRuns()) {
    // What a session holds is its own, whatever it serves now.
    if (isStray(row, request, row.head.runId, request.held)) strays.push(row)
    else if (!isMine(row.head, request.queues, request.workflows)) continue
    else if (row.session === 0 && isDue(row, request, tx.now)) free.push(row)
  }
  if (strays.length > 0) return strays
  free.sort((a, b) => b.head.priority - a.head.priority || a.at - b.at)
  const suspects = chooseSuspects(free, request.suspects)
  const sound = suspects.length > 0 ? suspects : free.filter((row) => row.deliveries === 0)
  return sound.slice(0, request.runs)
}

export function chooseTasks(tx: Transaction, request: ClaimRequest): TaskRow[] {
  const rows = [...tx.tasks()]
  const strays = rows.filter((row) => isStray(row, request, row.taskId, request.heldTasks))
  if (strays.length > 0) return strays
  return rows
    .filter((row) => isMine(row, request.queues, request.activities))
    .filter((row) => row.session === 0 && row.at <= tx.now)
    .sort((a, b) => b.priority - a.priority || a.at - b.at)
    .slice(0, request.tasks)
}

export function hasSuspects(tx: Transaction, request: ClaimRequest): boolean {
  for (const row of tx.liveRuns()) {
    if (row.session !== 0 || row.deliveries === 0 || !isDue(row, request, tx.now)) continue
    if (isMine(row.head, request.queues, request.workflows)) return true
  }
  return false
}

export function newsFor(tx: Transaction, request: ClaimRequest): Claimed['news'] {
  return request.held
    .flatMap((runId) => tx.run(runId) ?? [])
    .filter((row) => row.session === request.session && row.inbox.length > 0)
    .map((row) => ({ runId: row.head.runId, messages: row.inbox }))
}

export function nextDue(tx: Transaction, request: ClaimRequest): Instant | undefined {
  let next = NEVER
  const consider = (row: Grip & { readonly at: Instant }): void => {
    if (row.session === 0 && row.at > tx.now && row.at < next) next = row.at
  }
  for (const row of tx.liveRuns()) {
    if (isMine(row.head, request.queues, request.workflows) && isFor(row, request)) consider(row)
  }
  for (const row of tx.tasks()) if (isMine(row, request.queues, request.activities)) consider(row)
  for (const each of tx.sessions()) {
    const late = lateAt(each, tx.now)
    // Those that are late already are the claimer's to remember.
    if (each.session !== request.session && late > tx.now) next = Math.min(next, late)
  }
  return next === NEVER ? undefined : next
}

export function lateSessions(tx: Transaction, request: ClaimRequest): LateSession[] {
  return [...tx.sessions()]
    .filter((each) => each.session !== request.session && isLate(each, tx.now))
    .slice(0, limits.lateSessionsMax)
    .map(({ session, beat, ttlMs = limits.leaseMs }) => ({ session, beat, ttlMs }))
}

function chooseSuspects(free: readonly RunRow[], count: number): RunRow[] {
  if (count === 0) return []
  const grave = free.find((row) => row.deliveries > 1)
  return grave ? [grave] : free.filter((row) => row.deliveries === 1).slice(0, count)
}

function isStray(row: Grip, request: ClaimRequest, id: string, held: readonly string[]): boolean {
  return request.reconcile === true && row.session === request.session && !held.includes(id)
}

function isMine(
  what: { readonly queue: string; readonly name: string },
  queues: readonly string[],
  names: readonly string[] | null,
): boolean {
  return queues.includes(what.queue) && (names === null || names.includes(what.name))
}

/** Whether a run that is due may be given to who asks. */
function isDue(row: RunRow, request: ClaimRequest, now: Instant): boolean {
  if (!isFor(row, request)) return false
  if (row.paused === undefined) return row.at <= now
  return row.paused.build !== BY_HAND && row.paused.build !== request.build
}

function isFor({ pin, head }: RunRow, { pins, build }: ClaimRequest): boolean {
  if (pin !== undefined) return (pins?.builds ?? [build]).includes(pin)
  if (!pins) return true
  const share = Number.parseInt(head.runId.slice(-4), 16)
  return pins.from <= share && share < pins.to
}
