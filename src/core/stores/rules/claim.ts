// Who gets what, and what is said along with it.

import type { Instant } from '../../base/instant.ts'
import { limits } from '../../base/limits.ts'
import { isLate, lateAt } from '../lateness.ts'
import { BY_HAND, NEVER } from '../never.ts'
import type { Claimed, ClaimRequest, LateSession } from '../store.ts'
import { type Lane, type RowKind, runKind, taskKind } from './due-index.ts'
import type { RunRow, TaskRow } from './row.ts'
import type { Transaction } from './transaction.ts'

export function chooseRuns(tx: Transaction, request: ClaimRequest): RunRow[] {
  const strays = straysOf(tx.runsDue.heldBy(request.session), request, request.held, runKind)
  if (strays.length > 0) return strays
  const suspects = chooseSuspects(tx, request)
  return suspects.length > 0
    ? suspects.slice(0, request.runs)
    : dueRuns(tx, request, 0, request.runs)
}

export function chooseTasks(tx: Transaction, request: ClaimRequest): TaskRow[] {
  const { queues, activities, tasks } = request
  const strays = straysOf(tx.tasksDue.heldBy(request.session), request, request.heldTasks, taskKind)
  if (strays.length > 0) return strays
  const free = tx.tasksDue.free(request.nonce, (lane) =>
    isMine(lane, queues, activities) ? tx.now : undefined,
  )
  return take(free, tasks)
}

export function hasSuspects(tx: Transaction, request: ClaimRequest): boolean {
  return [1, 2].some((deaths) => dueRuns(tx, request, deaths, 1).length > 0)
}

export function newsFor(tx: Transaction, request: ClaimRequest): Claimed['news'] {
  return request.held
    .flatMap((runId) => tx.run(runId) ?? [])
    .filter((row) => row.session === request.session && row.inbox.length > 0)
    .map((row) => ({ runId: row.head.runId, messages: row.inbox }))
}

export function nextDue(tx: Transaction, request: ClaimRequest): Instant | undefined {
  const { queues, workflows, activities } = request
  let next = Math.min(
    tx.runsDue.nextAfter(
      tx.now,
      (lane) => isMine(lane, queues, workflows) && isPinFor(lane.pin, request),
      (row) => isInShare(row, request),
    ),
    tx.tasksDue.nextAfter(tx.now, (lane) => isMine(lane, queues, activities)),
  )
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

function chooseSuspects(tx: Transaction, request: ClaimRequest): RunRow[] {
  if (request.suspects === 0) return []
  const grave = dueRuns(tx, request, 2, 1)
  return grave.length > 0 ? grave : dueRuns(tx, request, 1, request.suspects)
}

/** Runs that are due and may be given to who asks, whose last holders died so often. */
function dueRuns(tx: Transaction, request: ClaimRequest, deaths: number, most: number): RunRow[] {
  const until = (lane: Lane): Instant | undefined => {
    const isForThem = lane.deaths === deaths && isMine(lane, request.queues, request.workflows)
    if (!isForThem || !isPinFor(lane.pin, request)) return undefined
    if (lane.pausedBy === undefined) return tx.now
    // A paused run is due for every build but the one that paused it, whatever the time.
    return lane.pausedBy === BY_HAND || lane.pausedBy === request.build ? undefined : NEVER
  }
  return take(tx.runsDue.free(request.nonce, until), most, (row) => isInShare(row, request))
}

/** What a session holds without knowing is its own, whatever it serves now. */
function straysOf<Row>(
  rows: readonly Row[],
  { reconcile }: ClaimRequest,
  held: readonly string[],
  { idOf }: RowKind<Row>,
): Row[] {
  if (reconcile !== true) return []
  const known = new Set(held)
  return rows.filter((row) => !known.has(idOf(row)))
}

function take<Row>(
  rows: Iterable<Row>,
  most: number,
  fits: (row: Row) => boolean = () => true,
): Row[] {
  const taken: Row[] = []
  if (most <= 0) return taken
  for (const row of rows) {
    if (!fits(row)) continue
    taken.push(row)
    if (taken.length === most) break
  }
  return taken
}

function isMine(
  what: { readonly queue: string; readonly name: string },
  queues: readonly string[],
  names: readonly string[] | null,
): boolean {
  return queues.includes(what.queue) && (names === null || names.includes(what.name))
}

/** Whether runs with this pin are for who asks. */
function isPinFor(pin: string | undefined, { pins, build }: ClaimRequest): boolean {
  return pin === undefined || (pins?.builds ?? [build]).includes(pin)
}

/** Of runs that are not pinned, only a share may be for who asks. */
function isInShare({ pin, head }: RunRow, { pins }: ClaimRequest): boolean {
  if (pin !== undefined || !pins) return true
  const share = Number.parseInt(head.runId.slice(-4), 16)
  return pins.from <= share && share < pins.to
}
