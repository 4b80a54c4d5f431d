// Reads all that is in a bucket, writes nothing, and finds what is wrong with it.
import { PawlError } from '../../../core/base/errors.ts'
import type { Instant } from '../../../core/base/instant.ts'
import { Tables } from '../../../core/stores/driver.ts'
import type { Bucket, Listing } from '../bucket.ts'
import { forEach } from '../for-each.ts'
import { decodeEntry } from '../format.ts'
import { ABOUT, ENDED, LOG, logKey, numberIn, runKey, SNAPSHOTS, snapshotKey } from '../layout.ts'
import { listAll } from '../listing.ts'
import { numbersUpTo, readLog } from '../log.ts'
import { updatedAtIn } from '../projections/projection.ts'
import { notBefore } from '../server-time.ts'
import { restore } from '../snapshot.ts'
import { faultsInState, openSegment, unreadable } from './integrity.ts'
import { differenceOf, LogState } from './log-state.ts'

export interface Problem {
  /** The key of the object it is about. */
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
    /** Needless since a snapshot; a sweep deletes them once they are old enough. */
    readonly covered: number
    /** Written when a snapshot had long covered their number. Nobody reads them. */
    readonly ghosts: number
  }
  readonly snapshots: { readonly objects: number; readonly newest: number }
  /** Orphans are in no list; a sweep deletes them once they are old enough. */
  readonly segments: { readonly objects: number; readonly orphans: number }
  readonly runs: { readonly live: number; readonly ended: number }
  readonly sessions: number
  readonly tasks: number
  readonly projections: { readonly looked: number; readonly missing: number; readonly old: number }
  readonly problems: readonly Problem[]
}

export interface ExamineOptions {
  /** The projections of how many runs are looked at; 1,000 when absent. */
  readonly projections?: number
}

const PROJECTIONS_LOOKED_AT = 1_000
/** Objects read or written at a time. */
export const AT_ONCE = 16

export const RESTORE =
  'Stop all workers and bring the object back, from an older version of it or from a backup of the bucket.'
const REPORT =
  'Stop all workers, keep a copy of everything under this prefix, and report it as a bug of pawl.'

interface Shown {
  readonly runId: string
  readonly updatedAt: Instant
}

export class BucketCheck {
  readonly #bucket: Bucket
  /** By what they say, since the same object may be read twice. */
  readonly #problems = new Map<string, Problem>()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async examine({ projections = PROJECTIONS_LOOKED_AT }: ExamineOptions): Promise<Findings> {
    const bucket = this.#bucket
    if ((await bucket.get(ABOUT)) === undefined)
      this.#found(ABOUT, 'is missing', 'The next process that works here writes it.')
    const { snapshots, log } = await this.#lists()
    const segments = await listAll(bucket, ENDED)
    const fold = await this.#newest(snapshots, log)
    const ghosts = new Set(log.filter((each) => isGhost(each, snapshots)))
    await this.#compare(
      snapshots.map(({ key }) => numberIn(key)),
      new Set(log.filter((each) => !ghosts.has(each)).map(({ key }) => numberIn(key))),
    )
    const shown = this.#checkState(fold).slice(0, projections)
    const archived = await this.#checkSegments(fold, shown, projections)
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
      projections: await this.#checkProjections(shown),
      problems: [...this.#problems.values()],
    }
  }

  /** The state as pawl would find it now, or an error if it cannot be trusted. */
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

  // Snapshots first: the log behind the newest of them is there for as long as this takes.
  async #lists(): Promise<{ snapshots: Listing[]; log: Listing[] }> {
    const snapshots = await this.#numbered(SNAPSHOTS, snapshotKey)
    return { snapshots, log: await this.#numbered(LOG, logKey) }
  }

  async #numbered(prefix: string, keyOf: (n: number) => string): Promise<Listing[]> {
    const all = await listAll(this.#bucket, prefix)
    return all.filter(({ key }) => {
      const isOurs = keyOf(numberIn(key)) === key
      if (!isOurs) this.#found(key, 'has a name that pawl gives to nothing', 'Move it elsewhere.')
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
      if (from.missing === key) this.#found(key, 'is listed, and not there', RESTORE)
      else if (from.missing !== undefined)
        this.#found(from.missing, `is missing, and a part of ${key}`, RESTORE)
      else if (from.n === numberIn(key)) return new LogState({ ...from, tables }, key)
      else this.#found(key, `says that it is number ${from.n}`, RESTORE)
    } catch (error) {
      this.#found(key, unreadable(key, error), RESTORE)
    }
    return undefined
  }

  // Applies these objects of the log for as long as nothing is wrong with them, and looks at the rest all the same.
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
      if (n > next) fault(logKey(next), `is missing: after ${next - 1}, the log goes on with ${n}`)
      next = n + 1
      try {
        if (body === undefined) {
          fault(key, 'is listed, and not there')
          continue
        }
        const entry = decodeEntry(key, body)
        if (entry.n !== n) fault(key, `says that it is number ${entry.n}`)
        if (notBefore(time, entry.at) !== entry.at)
          this.#found(key, `was written ${time - entry.at} ms before the one before it`, REPORT)
        time = entry.at
        if (isWhole) fold.apply(entry)
      } catch (error) {
        fault(key, unreadable(key, error))
      }
    }
  }

  // Every snapshot must say what the log says, from the oldest place on from which the log is still complete.
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
        if (where !== undefined)
          this.#found(snapshotKey(n), `is not what the log comes to: ${where} differs`, REPORT)
      }
      fold ??= snapshot
    }
  }

  #checkState(fold: LogState): Shown[] {
    const { tables, origin } = fold
    const rows = [...tables.live.values(), ...tables.ended.values()]
    const found = (fault: string): void => this.#found(origin, `has ${fault}`, REPORT, fold.name)
    for (const row of rows) {
      for (const fault of faultsInState(fold, row)) found(`run ${row.head.runId}, which ${fault}`)
    }
    for (const { taskId, session } of tables.tasks.values()) {
      if (session !== 0 && !tables.sessions.has(session))
        found(`task ${taskId}, which is held by session ${session}, which is gone`)
    }
    return rows.map(({ head, updatedAt }) => ({ runId: head.runId, updatedAt }))
  }

  // One at a time: of those before, only the ids are kept.
  async #checkSegments(
    { tables, archive }: LogState,
    shown: Shown[],
    most: number,
  ): Promise<number> {
    const seen = new Set<string>()
    for (const segment of archive.segments) {
      const { key } = segment
      const body = await this.#bucket.get(key)
      if (body === undefined) {
        this.#found(key, `is missing, with the ended runs in it (${segment.runs})`, RESTORE)
        continue
      }
      const { runs, faults } = openSegment(segment, body)
      for (const fault of faults) this.#found(key, fault, RESTORE)
      for (const { row } of runs) {
        const { runId } = row.head
        if (tables.run(runId)) this.#found(key, `has run ${runId}, which is also live`, REPORT)
        if (seen.has(runId)) this.#found(key, `has run ${runId}, as another segment has`, REPORT)
        seen.add(runId)
        if (shown.length < most) shown.push({ runId, updatedAt: row.updatedAt })
      }
    }
    return archive.segments.reduce((sum, { runs }) => sum + runs, 0)
  }

  async #checkProjections(shown: readonly Shown[]): Promise<Findings['projections']> {
    let missing = 0
    let old = 0
    await forEach(shown, AT_ONCE, async ({ runId, updatedAt }) => {
      const body = await this.#bucket.get(runKey(runId, 'state.json'))
      if (body === undefined) missing++
      else if (!(updatedAtIn(body) >= updatedAt)) old++
    })
    return { looked: shown.length, missing, old }
  }
}

function numberOf(listing: Listing | undefined): number {
  return listing ? numberIn(listing.key) : 0
}

/** A snapshot is made after all that is in it. */
function isGhost({ key, modifiedAt }: Listing, snapshots: readonly Listing[]): boolean {
  return snapshots.some(
    (snapshot) => numberIn(snapshot.key) >= numberIn(key) && snapshot.modifiedAt < modifiedAt,
  )
}
