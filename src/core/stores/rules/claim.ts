// Who is granted what, and what a claim is told beside it.

import type { Claimed, ClaimRequest } from '../store.ts'
import { NEVER } from '../values.ts'
import type { RowsTx, Run, Task } from './rows-tx.ts'
import { freeSilent, granted, lateness } from './session.ts'

export function claim(tx: RowsTx, request: ClaimRequest): Claimed {
  const claimed = grant(tx, request)
  return claimed.dead ? claimed : { ...claimed, ...outlook(tx, request) }
}

/** A claim that has nothing to write: no lease to grant, to return or to free. `undefined` if it may have. */
export function idleClaim(tx: RowsTx, request: ClaimRequest, isAnythingDue: () => boolean): Claimed | undefined {
  if (request.reconcile || request.silent.length > 0 || !tx.session(request.session)) return undefined
  if (isAnythingDue()) return undefined
  return { now: tx.now, runs: [], tasks: [], ...outlook(tx, request) }
}

/** Frees silent sessions and grants leases. */
function grant(tx: RowsTx, request: ClaimRequest): Claimed {
  const { now } = tx
  freeSilent(tx, request)
  const session = tx.session(request.session)
  if (!session) return { now, runs: [], tasks: [], news: [], dead: true }
  const [dueRuns, dueTasks] = [chooseRuns(tx, request), chooseTasks(tx, request)]
  const runs = dueRuns.map((run) => grantRun(tx, run, request))
  const tasks = dueTasks.map((task) => grantTask(tx, task, request))
  // The clock was set forward since the last renewal: turns under these leases are stamped later than it was good for.
  const isLate = (session.latest ?? session.expiresAt) < now
  const isNew = ({ session: holder }: Run | Task): boolean => holder !== request.session
  if (isLate && [...dueRuns, ...dueTasks].some(isNew)) tx.extendSession(session.session, now)
  return {
    now,
    runs: runs.map((run) => tx.claimedRun(run)),
    tasks: tasks.map((task) => tx.claimedTask(task)),
    news: [],
  }
}

/** What a claimer hears beside its grants. */
export function outlook(
  tx: RowsTx,
  request: ClaimRequest,
): Pick<Claimed, 'news' | 'suspects' | 'late' | 'nextDue' | 'nextLate'> {
  const { late, next } = lateness(tx, request)
  const due = tx.nextDue(request) ?? NEVER
  return {
    news: newsFor(tx, request),
    ...(tx.suspects(request, 1, 1).length > 0 && { suspects: true as const }),
    ...(late.length > 0 && { late }),
    ...(due < NEVER && { nextDue: due }),
    ...(next < NEVER && { nextLate: next }),
  }
}

export function chooseRuns(tx: RowsTx, request: ClaimRequest): readonly Run[] {
  const strays = straysOf(
    () => tx.runsHeldBy(request.session),
    request,
    request.held,
    ({ head }) => head.runId,
  )
  if (strays.length > 0 || request.runs === 0) return strays
  const suspects = chooseSuspects(tx, request)
  return suspects.length > 0 ? suspects : tx.dueRuns(request, request.runs)
}

export function chooseTasks(tx: RowsTx, request: ClaimRequest): readonly Task[] {
  const strays = straysOf(
    () => tx.tasksHeldBy(request.session),
    request,
    request.heldTasks,
    ({ taskId }) => taskId,
  )
  if (strays.length > 0 || request.tasks === 0) return strays
  return tx.dueTasks(request, request.tasks)
}

function chooseSuspects(tx: RowsTx, request: ClaimRequest): readonly Run[] {
  if (request.suspects === 0) return []
  const worst = tx.suspects(request, 2, 1)
  const most = Math.min(request.suspects, request.runs)
  return worst.length > 0 ? worst : tx.suspects(request, 1, most)
}

/** Leases that the session holds and did not list, whatever it serves now. */
function straysOf<Row>(
  rows: () => readonly Row[],
  { reconcile }: ClaimRequest,
  held: readonly string[],
  idOf: (row: Row) => string,
): Row[] {
  if (reconcile !== true) return []
  const known = new Set(held)
  return rows().filter((row) => !known.has(idOf(row)))
}

// A row that the session holds already is returned as it is.
function grantRun(tx: RowsTx, run: Run, request: ClaimRequest): Run {
  if (run.session === request.session) return run
  const at = Math.min(run.at, tx.now)
  return tx.change(run, { ...granted(run, request), status: 'running', at })
}

function grantTask(tx: RowsTx, task: Task, request: ClaimRequest): Task {
  return task.session === request.session ? task : tx.changeTask(task, granted(task, request))
}

function newsFor(tx: RowsTx, { held, session }: ClaimRequest): Claimed['news'] {
  return tx.unreadAmong(held).flatMap((runId) => {
    const run = tx.runInProgress(runId)
    const messages = run?.session === session ? tx.inbox(run) : []
    return messages.length > 0 ? [{ runId, messages }] : []
  })
}
