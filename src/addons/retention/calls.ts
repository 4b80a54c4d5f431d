// The calls of a retention, in this process or on a server; and a purge in parts of some seconds each.
import { defined } from '../../core/base/defined.ts'
import type { PurgeOptions, RetentionPolicy } from './options.ts'
import type { PurgeReport, SweepReport } from './sweep.ts'

/** The retention of a store. */
export interface RetentionRecord {
  readonly policy: RetentionPolicy
  /** The run that carries it out. */
  readonly runId: string
  /** How many runs it has deleted. */
  readonly purged: number
  /** The last walk through all old runs; absent before the first has ended. */
  readonly lastPass?: {
    readonly at: Date
    readonly purged: number
    /** Runs whose time was over and that were left, because the run that started them is in progress. */
    readonly needed: number
  }
}

/** What an engine and a client of a server both offer. */
export interface RetentionCalls {
  /** Sets the policy for all runs of the store. Its workers carry it out from now on, one of them at a time. */
  set(policy: RetentionPolicy): Promise<void>
  /** The policy and what it has done so far; undefined if runs are kept forever. */
  get(): Promise<RetentionRecord | undefined>
  /** Keeps all runs from now on. */
  remove(): Promise<void>
  /** Deletes what the policy does not keep, now and once; with `dryRun`, counts it. */
  purge(policy: RetentionPolicy, options?: PurgeOptions): Promise<PurgeReport>
}

/** Purges to the end, or to the limit. */
export async function inParts(
  options: PurgeOptions,
  purge: (part: PurgeOptions & { readonly from?: string }) => Promise<SweepReport>,
): Promise<PurgeReport> {
  const { limit } = options
  let [purged, needed] = [0, 0]
  const byWorkflow: Record<string, number> = {}
  let from: string | undefined
  do {
    const left = limit === undefined ? undefined : limit - purged
    const part = await purge(defined({ ...options, limit: left, from }))
    purged += part.purged
    needed += part.needed
    for (const [name, count] of Object.entries(part.byWorkflow)) byWorkflow[name] = (byWorkflow[name] ?? 0) + count
    from = part.next
  } while (from !== undefined && (limit === undefined || purged < limit))
  return { purged, needed, byWorkflow }
}
