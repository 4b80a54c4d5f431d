// What `pawl doctor` does with a bucket: find its problems, and write all projections again.
import type { Bucket } from '../bucket.ts'
import { LOG, logKey, SNAPSHOTS, snapshotKey } from '../layout.ts'
import { BucketCheck, type ExamineOptions, type Findings } from './bucket-check.ts'

export type { ExamineOptions, Findings, Problem } from './bucket-check.ts'
export { type RebuildOptions, rebuild } from './rebuild.ts'

const TRIES_MAX = 3

/**
 * Checks the whole bucket and writes nothing. Workers may run meanwhile: if there are problems and the store has
 * changed, it is checked again.
 */
export async function examine(bucket: Bucket, options: ExamineOptions = {}): Promise<Findings> {
  for (let tries = 1; ; tries++) {
    const findings = await new BucketCheck(bucket).examine(options)
    const isFinal = findings.problems.length === 0 || tries === TRIES_MAX
    if (isFinal || !(await hasChanged(bucket, findings))) return findings
  }
}

async function hasChanged(bucket: Bucket, { log, snapshots }: Findings): Promise<boolean> {
  if ((await bucket.list(LOG, { after: logKey(log.last), limit: 1 })).length > 0) return true
  return (await bucket.list(SNAPSHOTS, { after: snapshotKey(snapshots.newest) })).length > 0
}
