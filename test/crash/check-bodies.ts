// What the ledgers alone say about step bodies: that none ran in two places at once, that attempts were counted, and how
// long it took after a kill until another worker continued.
import type { Begun, LedgerLine } from './ledger.ts'

export interface Bodies {
  readonly ledger: readonly LedgerLine[]
  readonly killed: readonly { readonly pid: number; readonly order: number }[]
  /** Processes that were stopped for a while: their bodies went on after their leases had gone. */
  readonly resumed: readonly { readonly pid: number }[]
  /** When the store failed over, in microseconds of the monotonic clock. */
  readonly failedOver?: readonly number[]
}

/** A claim does not wait for the standby, which may lack those of this time. */
const claimsLostMicros = 2_000_000

interface Span {
  readonly line: Begun
  /** When the body ended, was aborted, or was killed with its process. */
  readonly end: number
  readonly isKilled: boolean
}

/** INV6: no body begins while the same body is running elsewhere. */
export function checkOverlaps(bodies: Bodies): string[] {
  const stopped = new Set(bodies.resumed.map(({ pid }) => pid))
  return [...spansOf(bodies)].flatMap(([id, spans]) =>
    spans.flatMap(({ line, end }, index) => {
      const next = spans[index + 1]
      if (!next || next.line.order >= end || stopped.has(line.pid)) return []
      const overlap = Math.round((end - next.line.order) / 1_000)
      return [`INV6: ${id} ran in ${line.pid} and ${next.line.pid} at once, for ${overlap} ms`]
    }),
  )
}

/**
 * INV14: a body that begins again is a later attempt. A process that was stopped may go on with one that others have
 * taken over meanwhile. A fail-over may forget a claim of the last moments, and with it the attempt that began under it
 * before anything else was written.
 */
export function checkAttempts(bodies: Bodies): string[] {
  const { failedOver = [] } = bodies
  const stopped = new Set(bodies.resumed.map(({ pid }) => pid))
  return [...spansOf(bodies)].flatMap(([id, spans]) =>
    spans.flatMap(({ line }, index) => {
      const before = spans[index - 1]?.line
      if (!before || line.attempt > before.attempt || stopped.has(line.pid)) return []
      const isForgotten = failedOver.some((at) => at > before.order && at < before.order + claimsLostMicros)
      if (isForgotten && line.attempt === before.attempt) return []
      return [`INV14: ${id} began as attempt ${line.attempt} after attempt ${before.attempt}`]
    }),
  )
}

/**
 * Milliseconds from each kill to the next attempt of each body that was running then, if nothing else struck in between:
 * the next holder of a run may be the next to be killed.
 */
export function recoveries(bodies: Bodies, struck: readonly number[]): number[] {
  return [...spansOf(bodies).values()].flatMap((spans) =>
    spans.flatMap(({ end, isKilled }, index) => {
      const next = spans[index + 1]
      if (!next || !isKilled) return []
      const disturbed = struck.some((order) => order > end && order < next.line.order)
      return disturbed ? [] : [(next.line.order - end) / 1_000]
    }),
  )
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function spansOf({ ledger, killed }: Bodies): Map<string, Span[]> {
  // A number of a process is given to another one when thousands have gone by.
  const deathOf = ({ pid, order }: Begun): number | undefined =>
    killed.find((each) => each.pid === pid && each.order > order)?.order
  const left = new Map<string, number>()
  for (const line of ledger) if (line.type === 'left') left.set(bodyOf(line), line.order)
  const spans = new Map<string, Span[]>()
  for (const line of ledger) {
    if (line.type !== 'begun') continue
    const id = `${line.runId} ${line.key}`
    const gone = left.get(bodyOf(line))
    const death = gone === undefined ? deathOf(line) : undefined
    const end = gone ?? death ?? Number.POSITIVE_INFINITY
    spans.set(id, [...(spans.get(id) ?? []), { line, end, isKilled: death !== undefined }])
  }
  for (const each of spans.values()) each.sort((a, b) => a.line.order - b.line.order)
  return spans
}

function bodyOf(line: { runId: string; key: string; attempt: number; pid: number }): string {
  return `${line.runId} ${line.key} ${line.attempt} ${line.pid}`
}
