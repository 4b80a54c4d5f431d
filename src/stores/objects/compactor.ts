// Keeps the bucket small: moves ended runs out of memory into segments, writes snapshots so that the log need not be
// read from its beginning, and deletes objects that are no longer needed. Any process may do this, several at once, and
// each may die at any point: objects are complete or absent, and a later sweep deletes what is left over.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'
import { NEVER } from '../../core/stores/driver.ts'
import type { Bucket, Listing } from './bucket.ts'
import type { LogEntry } from './format.ts'
import { ENDED, LOG, listAll, numberIn, PARTS, SNAPSHOTS, segmentKey, snapshotKey } from './layout.ts'
import type { Replica } from './replica.ts'
import { type ArchiveProposal, type EndedRun, encodeSegment, type Segment } from './segment.ts'
import { type SnapshotSettings, Snapshotter } from './snapshotter.ts'

export interface CompactorSettings extends SnapshotSettings {
  /** The number of log objects between two snapshots. */
  readonly snapshotEvery: number
  /** The number of ended runs that make a segment. */
  readonly archiveAt: number
  /** Objects that are no longer needed are kept at least this long. */
  readonly graceMs: number
  /** Ended runs are deleted after this time; default never. */
  readonly retentionMs?: number
}

export interface CompactorPorts {
  readonly replica: Replica
  readonly bucket: Bucket
  readonly clock: Clock
  readonly random: Random
  readonly settings: CompactorSettings
  readonly onError: (error: unknown) => void
}

/** The number of snapshots between two sweeps. */
const SNAPSHOTS_PER_SWEEP = 4

export class Compactor {
  readonly #ports: CompactorPorts
  readonly #snapshotter: Snapshotter
  #busy: Promise<void> | undefined
  #snapshots = 0
  /** How far the storage's clock is ahead of the monotonic clock, and when it last jumped. */
  #ahead: number | undefined
  #setAt: number
  #closed = false

  constructor(ports: CompactorPorts) {
    this.#ports = ports
    this.#snapshotter = new Snapshotter(ports)
    // The clock may have jumped just before this process began.
    this.#setAt = ports.clock.monotonic()
  }

  /** Called after each log object that this process added or read. Compacts in the background when it is time. */
  advanced(entry: LogEntry, own: boolean): void {
    this.#isSteady()
    if (!own || this.#busy || this.#closed || !this.#isTime(entry.n)) return
    this.#busy = this.compact(entry)
      .catch((error: unknown) => this.#ports.onError(error))
      .finally(() => {
        this.#busy = undefined
      })
  }

  async compact(cause: LogEntry): Promise<void> {
    const { replica, settings } = this.#ports
    if (replica.endedIn.size >= settings.archiveAt) await this.archive()
    await this.snapshot()
    if (this.#snapshots++ % SNAPSHOTS_PER_SWEEP === 0 && this.#isSteady()) await this.sweep(cause.at)
  }

  /** Moves all ended runs into a segment. */
  async archive(): Promise<void> {
    const { replica } = this.#ports
    const { tables, endedIn, position } = replica
    const { upTo, segments } = replica.archive.state
    const runs: EndedRun[] = [...endedIn.keys()].flatMap((runId) => {
      const row = tables.ended.get(runId)
      if (!row) return []
      const turns = tables.turns.get(runId) ?? []
      const streams = tables.streams.copyOf(runId)
      const more = { ...(streams.length > 0 && { streams }), ...(!tables.isNewest(row) && { older: true as const }) }
      return [{ row, turns, ...more }]
    })
    if (runs.length > 0) await this.#replace(upTo, position, [], runs, 0)
    await this.#merge()
    await this.#forgetOld(segments)
  }

  async snapshot(): Promise<void> {
    await this.#snapshotter.write()
  }

  /**
   * Deletes objects that a snapshot replaced longer than the grace period ago, because no process still relies on them.
   * `since` is the time of a log object that this process has written: a process that decided anything before it must
   * decide again.
   */
  async sweep(since: number): Promise<number> {
    const { bucket, replica, settings } = this.#ports
    const isOld = ({ modifiedAt }: Listing): boolean =>
      modifiedAt <= bucket.now() - settings.graceMs && modifiedAt <= since - settings.graceMs / 2
    const snapshots = await listAll(bucket, SNAPSHOTS)
    const parts = await listAll(bucket, PARTS)
    const whole = await this.#snapshotter.whole(snapshots, new Set(parts.map(({ key }) => key)))
    // One page of the log; the next sweep takes the rest.
    const log = await bucket.list(LOG)
    const before = (n: number): Listing[] => log.filter(({ key }) => numberIn(key) <= n)
    // A snapshot without all its parts covers nothing. One that seems older than what it covers was written while the
    // storage's clock was wrong.
    const newest = [...whole.keys()].filter((each) => [each, ...before(numberIn(each.key))].every(isOld))
    const covered = numberIn(newest.at(-1)?.key ?? snapshotKey(0))
    const gone = snapshots.filter(({ key }) => numberIn(key) < covered)
    gone.push(...before(covered))
    const needed = [...whole].filter(([each]) => !gone.includes(each)).flatMap(([, keys]) => keys)
    const segments = replica.archive.state.segments.map(({ key }) => key)
    const known = new Set([...segments, ...needed])
    const others = [...parts, ...(await listAll(bucket, ENDED))]
    gone.push(...others.filter((each) => isOld(each) && !known.has(each.key)))
    await bucket.delete(gone.map(({ key }) => key))
    return gone.length
  }

  /** Sweeps until nothing is left to delete. */
  async sweepAll(): Promise<number> {
    const { replica } = this.#ports
    // An empty change is written, so that a process that decided anything before it must decide again.
    const { upTo } = replica.archive.state
    await this.#propose({ from: upTo, upTo, dropped: [], added: [], packed: [], until: NEVER })
    let swept = 0
    for (let some = 1; some > 0; swept += some) some = await this.sweep(replica.at)
    return swept
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#busy
  }

  // False for a grace period after the storage's clock jumped, because dates from before the jump say nothing about
  // age.
  #isSteady(): boolean {
    const { bucket, clock, settings } = this.#ports
    const monotonic = clock.monotonic()
    const ahead = bucket.now() - monotonic
    if (Math.abs(ahead - (this.#ahead ?? ahead)) > limits.clockAheadMsMax) this.#setAt = monotonic
    this.#ahead = ahead
    return monotonic - this.#setAt > settings.graceMs
  }

  // The writer of a round number compacts; if it died, any process that writes much later.
  #isTime(n: number): boolean {
    const { replica, settings } = this.#ports
    const lag = n - replica.snapshot
    const { snapshotEvery } = settings
    // The last snapshot may be a little after its round number, so half the distance is enough.
    if (n % snapshotEvery === 0) return lag >= snapshotEvery / 2
    return lag >= 2 * snapshotEvery
  }

  // Merges segments of one level, because few large segments are faster to search than many small ones.
  async #merge(): Promise<void> {
    const { replica } = this.#ports
    const { upTo, segments } = replica.archive.state
    for (const level of new Set(segments.map((segment) => segment.level))) {
      const alike = segments.filter((segment) => segment.level === level)
      const runs = alike.reduce((sum, segment) => sum + segment.runs, 0)
      const bytes = alike.reduce((sum, segment) => sum + (segment.bytes ?? 0), 0)
      const isLarge = runs > limits.segmentRunsMax || bytes > limits.segmentBytesMax
      if (alike.length < limits.segmentsAlikeMax || isLarge) continue
      const all: EndedRun[] = []
      for (const segment of alike) all.push(...(await replica.archive.readAll(segment)))
      if (all.length === runs) await this.#replace(upTo, upTo, alike, all, level + 1)
      return
    }
  }

  async #forgetOld(segments: readonly Segment[]): Promise<void> {
    const { replica, bucket, settings } = this.#ports
    if (settings.retentionMs === undefined) return
    const before = bucket.now() - settings.retentionMs
    const { upTo } = replica.archive.state
    const dropped = segments.filter(({ endedTo }) => endedTo < before).map(({ key }) => key)
    if (dropped.length === 0) return
    await this.#propose({ from: upTo, upTo, dropped, added: [], packed: [], until: NEVER })
  }

  async #replace(
    from: number,
    upTo: number,
    old: readonly Segment[],
    runs: readonly EndedRun[],
    level: number,
  ): Promise<void> {
    const { bucket, random, settings } = this.#ports
    const until = bucket.now() + settings.graceMs / 4
    const added: Segment[] = []
    for (const some of portions(runs)) {
      const key = segmentKey(from, upTo, random.integer().toString(36))
      const { segment, body } = encodeSegment(key, some, level)
      await bucket.create(key, body)
      added.push(segment)
    }
    const dropped = old.map((each) => each.key)
    // Runs of merged segments have left memory before.
    const packed = old.length > 0 ? [] : runs.map(({ row }) => row.head.runId)
    await this.#propose({ from, upTo, dropped, added, packed, until })
  }

  async #propose(archive: ArchiveProposal): Promise<void> {
    await this.#ports.replica.submit({ apply: () => true, archive })
  }
}

/** Divides runs by the size of their histories, because a segment is one text in memory. */
function* portions(runs: readonly EndedRun[]): Generator<EndedRun[]> {
  let portion: EndedRun[] = []
  let bytes = 0
  for (const run of runs) {
    portion.push(run)
    bytes += run.turns.reduce((sum, { body }) => sum + body.length, run.row.head.input.length)
    for (const { row } of run.streams ?? []) bytes += row.bytes
    if (bytes < limits.segmentBytesMax) continue
    yield portion
    portion = []
    bytes = 0
  }
  if (portion.length > 0) yield portion
}
