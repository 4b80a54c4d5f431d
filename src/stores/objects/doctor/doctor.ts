// What `pawl doctor` does with a bucket: says what is wrong with it, and writes the objects for people anew.
import type { Bucket } from '../bucket.ts'
import { LOG, logKey, SNAPSHOTS, snapshotKey } from '../layout.ts'
import { BucketCheck, type ExamineOptions, type Findings } from './bucket-check.ts'

export type { ExamineOptions, Findings, Problem } from './bucket-check.ts'
export { type RebuildOptions, rebuild } from './rebuild.ts'

const TRIES_MAX = 3

/** Reads everything and writes nothing. Workers may go on: what looks wrong in a store that moved is looked at again. */
export async function examine(bucket: Bucket, options: ExamineOptions = {}): Promise<Findings> {
  for (let tries = 1; ; tries++) {
    const findings = await new BucketCheck(bucket).examine(options)
    const isCalm = findings.problems.length === 0 || tries === TRIES_MAX
    if (isCalm || !(await hasMoved(bucket, findings))) return findings
  }
}

async function hasMoved(bucket: Bucket, { log, snapshots }: Findings): Promise<boolean> {
  if ((await bucket.list(LOG, { after: logKey(log.last), limit: 1 })).length > 0) return true
  return (await bucket.list(SNAPSHOTS, { after: snapshotKey(snapshots.newest) })).length > 0
}
