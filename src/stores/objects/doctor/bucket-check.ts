// Checks everything in a bucket. Reads only.
import { PawlError } from '../../../core/base/errors.ts'
import type { Instant } from '../../../core/base/time.ts'
import { Tables } from '../../../core/stores/driver.ts'
import type { Bucket, Listing } from '../bucket.ts'
import { forEach } from '../bucket.ts'
import { decodeEntry } from '../format.ts'
import { ABOUT, ENDED, LOG, listAll, logKey, numberIn, runKey, SNAPSHOTS, snapshotKey } from '../layout.ts'
import { numbersUpTo, readLog } from '../log.ts'
import { updatedAtIn } from '../projections/projection.ts'
import { notBefore } from '../server-time.ts'
import { restore } from '../snapshot.ts'
import { faultsInState, openSegment, unreadable } from './integrity.ts'
import { differenceOf, LogState } from './log-state.ts'

export interface Problem {
  /** The key of the object that has the problem. */
  readonly object: string
  readonly problem: string
  readonly advice: string
}

export interface Findings {
  readonly bucket: string
  readonly log: {
    readonly objects: number
    readonly bytes: number
    readonly last: number
    /** Objects that a snapshot covers; a sweep deletes them once they are old enough. */
    readonly covered: number
    /** Objects written after a snapshot covered their number. Workers never read them. */
    readonly ghosts: number
  }
  readonly snapshots: { readonly objects: number; readonly newest: number }
  /** Orphans are listed nowhere; a sweep deletes them once they are old enough. */
  readonly segments: { readonly objects: number; readonly orphans: number }
  readonly runs: { readonly live: number; readonly ended: number }
  readonly sessions: number
  readonly tasks: number
  readonly projections: { readonly looked: number; readonly missing: number; readonly old: number }
  readonly problems: readonly Problem[]
}

export interface ExamineOptions {
  /** The number of runs whose projections are checked; default 1,000. */
  readonly projections?: number
}

const PROJECTIONS_CHECKED = 1_000
/** Objects read or written at the same time. */
export const AT_ONCE = 16

export const RESTORE = 'Stop all workers and restore the object from an older version in the bucket or from a backup.'
const REPORT = 'Stop all workers, keep a copy of everything under this prefix, and report a bug in pawl.'

/** A run whose projection is checked. */
interface Projected {
  readonly runId: string
  readonly updatedAt: Instant
}

export class BucketCheck {
  readonly #bucket: Bucket
  /** By text, because the same object may be read twice. */
  readonly #problems = new Map<string, Problem>()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async examine({ projections = PROJECTIONS_CHECKED }: ExamineOptions): Promise<Findings> {
    const bucket = this.#bucket
    if ((await bucket.get(ABOUT)) === undefined)
      this.#found(ABOUT, 'is missing', 'Start a worker: it writes the object again.')
    const { snapshots, log } = await this.#lists()
    const segments = await listAll(bucket, ENDED)
    const fold = await this.#newest(snapshots, log)
    const ghosts = new Set(log.filter((each) => isGhost(each, snapshots)))
    await this.#compare(
      snapshots.map(({ key }) => numberIn(key)),
      new Set(log.filter((each) => !ghosts.has(each)).map(({ key }) => numberIn(key))),
    )
    const projected = this.#checkState(fold).slice(0, projections)
    const archived = await this.#checkSegments(fold, projected, projections)
    const newest = numberOf(snapshots.at(-1))
    const listed = new Set(fold.archive.segments.map(({ key }) => key))
    return {
      bucket: bucket.name,
      log: {
        objects: log.length,
        bytes: log.reduce((sum, { bytes }) => sum + bytes, 0),
        last: Math.max(fold.n, numberOf(log.at(-1))),
        covered: log.filter(({ key }) => numberIn(key) <= newest).length,
        ghosts: ghosts.size,
      },
      snapshots: { objects: snapshots.length, newest },
      segments: {
        objects: listed.size,
        orphans: segments.filter(({ key }) => !listed.has(key)).length,
      },
      runs: { live: fold.tables.live.size, ended: fold.tables.ended.size + archived },
      sessions: fold.tables.sessions.size,
      tasks: fold.tables.tasks.size,
      projections: await this.#checkProjections(projected),
      problems: [...this.#problems.values()],
    }
  }

  /** Returns the state as a worker would read it now; throws if that has problems. */
  async state(): Promise<LogState> {
    const { snapshots, log } = await this.#lists()
    const fold = await this.#newest(snapshots, log)
    const [problem] = this.#problems.values()
    if (problem) throw new PawlError('STORE_UNSUITABLE', `${problem.problem} ${problem.advice}`)
    return fold
  }

  #found(object: string, fault: string, advice: string, name = object): void {
    const problem = `${name} ${fault}.`
    this.#problems.set(problem, { object, problem, advice })
  }

  // Snapshots are listed first: the log after the newest of them stays for the whole grace period.
  async #lists(): Promise<{ snapshots: Listing[]; log: Listing[] }> {
    const snapshots = await this.#numbered(SNAPSHOTS, snapshotKey)
    return { snapshots, log: await this.#numbered(LOG, logKey) }
  }

  async #numbered(prefix: string, keyOf: (n: number) => string): Promise<Listing[]> {
    const all = await listAll(this.#bucket, prefix)
    return all.filter(({ key }) => {
      const isOurs = keyOf(numberIn(key)) === key
      if (!isOurs) this.#found(key, 'is not an object of pawl', 'Move it out of this prefix.')
      return isOurs
    })
  }

  async #newest(snapshots: readonly Listing[], log: readonly Listing[]): Promise<LogState> {
    let fold: LogState | undefined
    for (const { key } of snapshots.toReversed()) fold ??= await this.#restored(key)
    fold ??= new LogState()
    const { n } = fold
    await this.#follow(
      fold,
      log.map(({ key }) => numberIn(key)).filter((each) => each > n),
    )
    return fold
  }

  async #restored(key: string): Promise<LogState | undefined> {
    try {
      const tables = new Tables()
      const from = await restore(this.#bucket, key, tables)
      if (from.missing === key) this.#found(key, 'is listed, but missing', RESTORE)
      else if (from.missing !== undefined) this.#found(from.missing, `is missing, but ${key} needs it`, RESTORE)
      else if (from.n === numberIn(key)) return new LogState({ ...from, tables }, key)
      else this.#found(key, `has the number ${from.n} in its header`, RESTORE)
    } catch (error) {
      this.#found(key, unreadable(key, error), RESTORE)
    }
    return undefined
  }

  // Applies these log objects up to the first faulty one, and checks the rest as well.
  async #follow(fold: LogState, numbers: readonly number[]): Promise<void> {
    let isWhole = true
    let next = fold.n + 1
    let time = fold.at
    for await (const { n, body } of readLog(this.#bucket, numbers)) {
      const key = logKey(n)
      const fault = (object: string, text: string): void => {
        this.#found(object, text, RESTORE)
        isWhole = false
      }
      if (n > next) fault(logKey(next), `is missing: after ${next - 1}, the log continues with ${n}`)
      next = n + 1
      try {
        if (body === undefined) {
          fault(key, 'is listed, but missing')
          continue
        }
        const entry = decodeEntry(key, body)
        if (entry.n !== n) fault(key, `has the number ${entry.n} in its header`)
        if (notBefore(time, entry.at) !== entry.at)
          this.#found(key, `has a time ${time - entry.at} ms before that of the object before it`, REPORT)
        time = entry.at
        if (isWhole) fold.apply(entry)
      } catch (error) {
        fault(key, unreadable(key, error))
      }
    }
  }

  // Compares every snapshot with the log, from the oldest number after which the log is complete.
  async #compare(snapshots: readonly number[], log: ReadonlySet<number>): Promise<void> {
    let complete = snapshots.at(-1) ?? 0
    while (log.has(complete)) complete--
    let fold = complete === 0 ? new LogState() : undefined
    for (const n of snapshots.filter((each) => each >= complete)) {
      const snapshot = await this.#restored(snapshotKey(n))
      if (fold) {
        await this.#follow(fold, numbersUpTo(fold.n, n))
        if (fold.n !== n) return
        const where = snapshot && differenceOf(fold, snapshot)
        if (where !== undefined) this.#found(snapshotKey(n), `does not agree with the log: ${where} differs`, REPORT)
      }
      fold ??= snapshot
    }
  }

  #checkState(fold: LogState): Projected[] {
    const { tables, origin } = fold
    const rows = [...tables.live.values(), ...tables.ended.values()]
    const found = (fault: string): void => this.#found(origin, `has ${fault}`, REPORT, fold.name)
    for (const row of rows) {
      for (const fault of faultsInState(fold, row)) found(`run ${row.head.runId}, which ${fault}`)
    }
    for (const { taskId, session } of tables.tasks.values()) {
      if (session !== 0 && !tables.sessions.has(session))
        found(`task ${taskId}, which is held by session ${session}, which does not exist`)
    }
    return rows.map(({ head, updatedAt }) => ({ runId: head.runId, updatedAt }))
  }

  // Reads one segment at a time and keeps only the run ids, to save memory.
  async #checkSegments({ tables, archive }: LogState, projected: Projected[], most: number): Promise<number> {
    const seen = new Set<string>()
    for (const segment of archive.segments) {
      const { key } = segment
      const body = await this.#bucket.get(key)
      if (body === undefined) {
        this.#found(key, `is missing, with its ended runs (${segment.runs})`, RESTORE)
        continue
      }
      const { runs, faults } = openSegment(segment, body)
      for (const fault of faults) this.#found(key, fault, RESTORE)
      for (const { row } of runs) {
        const { runId } = row.head
        if (tables.run(runId)) this.#found(key, `has run ${runId}, which the log or a snapshot has as well`, REPORT)
        if (seen.has(runId)) this.#found(key, `has run ${runId}, which another segment has as well`, REPORT)
        seen.add(runId)
        if (projected.length < most) projected.push({ runId, updatedAt: row.updatedAt })
      }
    }
    return archive.segments.reduce((sum, { runs }) => sum + runs, 0)
  }

  async #checkProjections(projected: readonly Projected[]): Promise<Findings['projections']> {
    let missing = 0
    let old = 0
    await forEach(projected, AT_ONCE, async ({ runId, updatedAt }) => {
      const body = await this.#bucket.get(runKey(runId, 'state.json'))
      if (body === undefined) missing++
      else if (!(updatedAtIn(body) >= updatedAt)) old++
    })
    return { looked: projected.length, missing, old }
  }
}

function numberOf(listing: Listing | undefined): number {
  return listing ? numberIn(listing.key) : 0
}

/** True if the object is younger than a snapshot that covers its number: a snapshot is written after what it covers. */
function isGhost({ key, modifiedAt }: Listing, snapshots: readonly Listing[]): boolean {
  return snapshots.some((snapshot) => numberIn(snapshot.key) >= numberIn(key) && snapshot.modifiedAt < modifiedAt)
}
