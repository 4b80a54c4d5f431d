// Reads all that is in a bucket and says what is wrong with it; and writes the objects for people anew. Workers may go
// on meanwhile: what looks wrong in a store that moved is looked at again.
import { PawlError } from '../../kernel/errors.ts'
import type { Instant } from '../../kernel/event.ts'
import { limits } from '../../kernel/limits.ts'
import type { Bucket, Listing } from './bucket.ts'
import { faultsInState, openSegment, reason } from './faults.ts'
import { differenceOf, Fold, forEach, listAll, readLog } from './fold.ts'
import { decodeEntry } from './format.ts'
import {
  ABOUT,
  ENDED,
  LOG,
  logKey,
  NAMES,
  nameKey,
  numberIn,
  RUNS,
  runKey,
  SNAPSHOTS,
  segmentOf,
  snapshotKey,
} from './layout.ts'
import { type Projected, projectionOf } from './projection.ts'
import type { EndedRun, Segment } from './segment.ts'

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
const TRIES_MAX = 3
const AT_ONCE = 16

const RESTORE =
  'Stop all workers and bring the object back, from an older version of it or from a backup of the bucket.'
const REPORT =
  'Stop all workers, keep a copy of everything under this prefix, and report it as a bug of pawl.'

export async function examine(bucket: Bucket, options: ExamineOptions = {}): Promise<Findings> {
  for (let tries = 1; ; tries++) {
    const findings = await new Examination(bucket).examine(options)
    const isCalm = findings.problems.length === 0 || tries === TRIES_MAX
    if (isCalm || !(await hasMoved(bucket, findings))) return findings
  }
}

async function hasMoved(bucket: Bucket, { log, snapshots }: Findings): Promise<boolean> {
  if ((await bucket.list(LOG, { after: logKey(log.last), limit: 1 })).length > 0) return true
  return (await bucket.list(SNAPSHOTS, { after: snapshotKey(snapshots.newest) })).length > 0
}

interface Shown {
  readonly runId: string
  readonly updatedAt: Instant
}

class Examination {
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
    const segments = await Array.fromAsync(listAll(bucket, ENDED))
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
  async state(): Promise<Fold> {
    const { snapshots, log } = await this.#lists()
    const fold = await this.#newest(snapshots, log)
    const [problem] = this.#problems.values()
    if (problem) throw new PawlError('STORE_UNSUITABLE', `${problem.problem} ${problem.advice}`)
    return fold
  }

  #found(object: string, fault: string, advice: string): void {
    const problem = `${object} ${fault}.`
    this.#problems.set(problem, { object, problem, advice })
  }

  // Snapshots first: the log behind the newest of them is there for as long as this takes.
  async #lists(): Promise<{ snapshots: Listing[]; log: Listing[] }> {
    const snapshots = await this.#numbered(SNAPSHOTS, snapshotKey)
    return { snapshots, log: await this.#numbered(LOG, logKey) }
  }

  async #numbered(prefix: string, keyOf: (n: number) => string): Promise<Listing[]> {
    const all = await Array.fromAsync(listAll(this.#bucket, prefix))
    return all.filter(({ key }) => {
      const isOurs = keyOf(numberIn(key)) === key
      if (!isOurs) this.#found(key, 'has a name that pawl gives to nothing', 'Move it elsewhere.')
      return isOurs
    })
  }

  async #newest(snapshots: readonly Listing[], log: readonly Listing[]): Promise<Fold> {
    let fold: Fold | undefined
    for (const { key } of snapshots.toReversed()) fold ??= await this.#restored(key)
    fold ??= new Fold()
    const { n } = fold
    await this.#follow(fold, log.map(({ key }) => numberIn(key)).filter((each) => each > n))
    return fold
  }

  async #restored(key: string): Promise<Fold | undefined> {
    const body = await this.#bucket.get(key)
    try {
      if (body === undefined) this.#found(key, 'is listed, and not there', RESTORE)
      else {
        const fold = new Fold({ key, body })
        if (fold.n === numberIn(key)) return fold
        this.#found(key, `says that it is number ${fold.n}`, RESTORE)
      }
    } catch (error) {
      this.#found(key, `is not readable: ${reason(error)}`, RESTORE)
    }
    return undefined
  }

  // Applies these objects of the log for as long as nothing is wrong with them, and looks at the rest all the same.
  async #follow(fold: Fold, numbers: readonly number[], each = (): void => {}): Promise<void> {
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
        if (entry.at < time)
          this.#found(key, `was written ${time - entry.at} ms before the one before it`, REPORT)
        time = Math.max(time, entry.at)
        if (!isWhole) continue
        fold.apply(entry)
        each()
      } catch (error) {
        fault(key, `is not readable: ${reason(error)}`)
      }
    }
  }

  // Every snapshot must say what the log says, from the oldest place on from which the log is still complete.
  async #compare(snapshots: readonly number[], log: ReadonlySet<number>): Promise<void> {
    const newest = snapshots.at(-1) ?? 0
    let first = newest
    while (log.has(first)) first--
    const base = [0, ...snapshots].find((n) => n >= first && n < newest)
    if (base === undefined) return
    const fold = base === 0 ? new Fold() : await this.#restored(snapshotKey(base))
    // One that cannot be read is no place to begin at; the next one may be.
    if (!fold) return this.#compare(snapshots.slice(snapshots.indexOf(base) + 1), log)
    const numbers = Array.from({ length: newest - base }, (_, index) => base + 1 + index)
    const due = new Set(snapshots)
    const differing: [number, Fold][] = []
    const compare = async (): Promise<void> => {
      const n = fold.n
      const key = snapshotKey(n)
      const other = await this.#restored(key)
      const what = other && differenceOf(fold, other)
      if (what !== undefined)
        this.#found(key, `is not what the log says since ${fold.source}: ${what} differs`, REPORT)
    }
    void differing
    void due
    void compare
    await this.#follow(fold, numbers)
  }
}
