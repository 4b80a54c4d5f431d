// The queries of a claim over rows in memory: which runs and tasks it may be granted, and when the next is due.
import type { Instant } from '../../base/time.ts'
import type { ClaimRequest } from '../store.ts'
import { BY_HAND, NEVER } from '../values.ts'
import type { Lane } from './due-index.ts'
import type { RunRow, TaskRow } from './row.ts'
import type { Visible } from './visible.ts'

/** Runs whose holders died so often since the last release; 2 stands for more, too. */
export function runsFor(
  rows: Visible<RunRow>,
  request: ClaimRequest,
  { now, deaths, limit }: { now: Instant; deaths: readonly number[]; limit: number },
): RunRow[] {
  const until = (lane: Lane): Instant | undefined => {
    const isFor = deaths.includes(lane.deaths) && isServed(lane, request.queues, request.workflows)
    if (!isFor || !isPinFor(lane.pin, request)) return undefined
    if (lane.pausedBy === undefined) return now
    // A paused run is due for every build but the one that paused it, whatever the time.
    return lane.pausedBy === BY_HAND || lane.pausedBy === request.build ? undefined : NEVER
  }
  return take(rows.free(request.nonce, until), limit, (row) => isInShare(row, request))
}

export function tasksFor(
  rows: Visible<TaskRow>,
  { queues, activities, nonce }: ClaimRequest,
  { now, limit }: { now: Instant; limit: number },
): TaskRow[] {
  const until = (lane: Lane): Instant | undefined => (isServed(lane, queues, activities) ? now : undefined)
  return take(rows.free(nonce, until), limit)
}

export function nextFor(
  runs: Visible<RunRow>,
  tasks: Visible<TaskRow>,
  request: ClaimRequest,
  now: Instant,
): Instant | undefined {
  const { queues, workflows, activities } = request
  const next = Math.min(
    runs.nextAfter(
      now,
      (lane) => isServed(lane, queues, workflows) && isPinFor(lane.pin, request),
      (row) => isInShare(row, request),
    ),
    tasks.nextAfter(now, (lane) => isServed(lane, queues, activities)),
  )
  return next === NEVER ? undefined : next
}

function take<Row>(rows: Iterable<Row>, limit: number, fits: (row: Row) => boolean = () => true): Row[] {
  const taken: Row[] = []
  if (limit <= 0) return taken
  for (const row of rows) {
    if (!fits(row)) continue
    taken.push(row)
    if (taken.length === limit) break
  }
  return taken
}

function isServed(
  { queue, name }: { readonly queue: string; readonly name: string },
  queues: readonly string[],
  names: readonly string[] | null,
): boolean {
  return queues.includes(queue) && (names === null || names.includes(name))
}

/** True if runs with this pin are for the claimer. */
function isPinFor(pin: string | undefined, { pins, build }: ClaimRequest): boolean {
  return pin === undefined || (pins?.builds ?? [build]).includes(pin)
}

/** Of runs that are not pinned, the claimer may serve only a share. */
function isInShare({ pin, head }: RunRow, { pins }: ClaimRequest): boolean {
  if (pin !== undefined || !pins) return true
  const share = Number.parseInt(head.runId.slice(-4), 16)
  return pins.from <= share && share < pins.to
}
