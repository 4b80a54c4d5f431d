// This process's copy of the state that the log describes. One pump makes every change to it, one at a time: it adds an
// object to the log, or reads the objects that other processes added.
//
// The writer of object n has read all objects before it, and creates it only if it does not exist yet. That alone makes
// its content valid. A writer that comes second reads the other's object, applies its own writes anew, and tries the
// next number.
import { assert } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { persist, unavailable } from '../../core/runtime/availability.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'
import { type Changes, type Hint, isEmpty, Pump, Tables, Transaction } from '../../core/stores/driver.ts'
import { Archive } from './archive.ts'
import type { Bucket } from './bucket.ts'
import { ChangedRows } from './changed-rows.ts'
import { SegmentGone } from './errors.ts'
import { decodeEntry, encodeEntry, type LogEntry, noteEnd } from './format.ts'
import { Freshness } from './freshness.ts'
import { LOG, listAll, logKey, numberIn, pages, SNAPSHOTS } from './layout.ts'
import { damaged, Follower, numbersUpTo, readLog } from './log.ts'
import { type ArchiveChange, changedArchive, firstFitting } from './segment.ts'
import { notBefore } from './server-time.ts'
import { beginning, restore, type Snapshot } from './snapshot.ts'
import { WriteBackoff } from './write-backoff.ts'
import { answer, applyTo, isStale, type Pending, type PendingWrite, WriteQueue } from './write-queue.ts'

/** An object on its way. */
interface Sent {
  readonly entry: LogEntry
  readonly body: string
}

export interface ReplicaPorts {
  readonly bucket: Bucket
  readonly clock: Clock
  readonly random: Random
  readonly tell: (hints: readonly Hint[]) => void
  /** Called after each object that was added here or read. */
  readonly onAdvance: (entry: LogEntry, own: boolean) => void
  /** Log objects live at least this long after a snapshot made them needless. */
  readonly graceMs: number
}

export class Replica {
  tables = new Tables()
  readonly archive: Archive
  /** The newest log object that is part of `tables`, and the time it was written at. */
  position = 0
  at: Instant = 0
  /** The newest snapshot known here. */
  snapshot = 0
  /** For each ended run that is not archived, the log object in which it ended. */
  endedIn = new Map<string, number>()
  /** What the log behind the snapshot has changed. */
  touched = new ChangedRows()
  readonly #ports: ReplicaPorts
  readonly #waiting = new WriteQueue()
  readonly #pacing: WriteBackoff
  readonly #pump: Pump
  readonly #over = new AbortController()
  #isOpen = false
  readonly #certainty: Freshness
  readonly #follower: Follower

  constructor(ports: ReplicaPorts) {
    this.#ports = ports
    this.archive = new Archive(ports.bucket)
    this.#certainty = new Freshness(ports.clock, ports.graceMs)
    this.#pacing = new WriteBackoff(ports.clock, ports.random)
    this.#pump = new Pump({ hasWork: () => !this.#waiting.isEmpty, step: () => this.#step() })
    this.#follower = new Follower({
      bucket: ports.bucket,
      freshness: this.#certainty,
      backoff: this.#pacing,
      position: () => this.position,
      refresh: () => this.#makeCertain(),
      apply: (entry) => {
        if (this.#waiting.hasWrites) this.#pacing.met()
        this.#apply(entry, false)
      },
    })
  }

  get now(): Instant {
    return notBefore(this.at, this.#ports.bucket.now())
  }

  /** How long ago the end of the log was seen. */
  get ageMs(): number {
    return this.#certainty.ageMs
  }

  /** Applies the write, and resolves when its changes are durable. */
  submit<Out>(write: PendingWrite<Out>): Promise<Out> {
    return new Promise<Out>((resolve, reject) => {
      if (this.#over.signal.aborted) return reject(unavailable(this.#ports.bucket.name, 'the store is closed'))
      this.#waiting.add({ write: write as PendingWrite<unknown>, resolve, reject })
      this.#pump.start()
    })
  }

  /** Resolves when all that was durable at the time of the call is part of `tables`. */
  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#over.signal.aborted) return reject(unavailable(this.#ports.bucket.name, 'the store is closed'))
      this.#waiting.addReader({ resolve, reject })
      this.#pump.start()
    })
  }

  /** The state as it is at this moment. */
  dump(): Snapshot {
    const { tables, endedIn, position, at } = this
    return { n: position, at, archive: this.archive.state, tables, endedIn }
  }

  /** Notes that a snapshot of this number exists. */
  noteSnapshot(snapshot: number): void {
    if (snapshot <= this.snapshot) return
    this.snapshot = snapshot
    this.touched.forget(snapshot)
  }

  /** Refuses new calls, and waits for those in progress. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.#pump.idle()
  }

  // Reads everything anew: the newest snapshot, and the log behind it.
  async #open(): Promise<void> {
    for (let before: string | undefined; ; ) {
      const sentAt = this.#certainty.moment()
      const keys = (await listAll(this.#ports.bucket, SNAPSHOTS)).map(({ key }) => key).reverse()
      const lost = await this.#restore(keys)
      const gap = await this.#readLog()
      if (gap === undefined) {
        this.#certainty.renew(sentAt)
        this.#isOpen = true
        // Reading took so long that objects may have been deleted and their numbers used again meanwhile.
        if (this.#certainty.holds) return
        continue
      }
      // If there is a newer snapshot now, the object was deleted since.
      if (before !== undefined && before === (keys[0] ?? '')) throw damaged(lost ?? gap)
      before = keys[0] ?? ''
    }
  }

  // Loads the first complete snapshot of these: one that was finished after parts of it had been deleted is not complete.
  // Without a snapshot, the log must begin with its first object. Returns the key of the first object that is missing.
  async #restore(keys: readonly string[]): Promise<string | undefined> {
    let lost: string | undefined
    for (const key of keys) {
      const tables = new Tables()
      const from = await restore(this.#ports.bucket, key, tables)
      if (from.missing === undefined) {
        this.#become({ ...from, tables })
        return lost
      }
      lost ??= from.missing
    }
    this.#become({ ...beginning, tables: new Tables() })
    return lost
  }

  #become({ tables, endedIn, archive, n, at }: Snapshot): void {
    this.tables = tables
    this.endedIn = new Map(endedIn)
    this.archive.become(archive)
    this.touched = new ChangedRows()
    this.position = n
    this.snapshot = n
    this.at = at
  }

  // A list that is made while others write may have a number and not the one before it, so it only tells how far to read.
  async #readLog(): Promise<string | undefined> {
    const { bucket } = this.#ports
    for await (const page of pages(bucket, LOG, logKey(this.position))) {
      const last = numberIn(page.at(-1)?.key ?? '')
      for await (const { n, body } of readLog(bucket, numbersUpTo(this.position, last))) {
        if (body === undefined) return logKey(n)
        this.#apply(decodeEntry(logKey(n), body), false)
      }
    }
    return undefined
  }

  async #step(): Promise<void> {
    const isHurried = this.#waiting.isUrgent || this.#over.signal.aborted
    const pauseMs = isHurried ? 0 : this.#pacing.pauseMs
    const writes = this.#waiting.hasWrites && pauseMs === 0
    if (writes) await this.#writeBatch(this.#waiting.take())
    // Also readers that came while something was written: they do not wait for the next write.
    if (this.#waiting.hasReaders) await this.#readToEnd().catch(() => {})
    else if (!writes) await this.#pause(pauseMs)
  }

  // Lets other processes write. Reads and urgent writes do not wait for this pause.
  async #pause(ms: number): Promise<void> {
    const over = new AbortController()
    this.#waiting.onHurry = () => over.abort()
    await sleep(this.#ports.clock, ms, AbortSignal.any([over.signal, this.#over.signal]))
    this.#waiting.onHurry = () => {}
  }

  // Settles the readers that wait for the end of the log, also if it cannot be read.
  #readToEnd(): Promise<void> {
    return this.#isOpen ? this.#follow() : this.#waiting.serve(() => this.#open())
  }

  async #writeBatch(batch: readonly Pending[]): Promise<void> {
    try {
      if (!this.#isOpen) await this.#open()
      await this.#write(batch)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  // If another process was faster, its object is read, and the batch is tried again.
  async #write(first: readonly Pending[]): Promise<void> {
    let batch = first
    for (let hasFollowed = false; ; hasFollowed = true) {
      batch = await this.#loadArchived(batch)
      const tx = new Transaction(this.tables, this.now, this.archive)
      const outs = batch.map(({ write }) => applyTo(write, tx))
      const changes = tx.changes()
      const archive = this.#fitting(batch, changes)
      if (isEmpty(changes) && !archive) {
        // Without a write there is no sign whether another process wrote before these calls were made.
        if (hasFollowed || !batch.some(({ write }, index) => isStale(write, outs[index]))) return answer(batch, outs)
        const before = this.position
        await this.#follow()
        if (this.position === before) return answer(batch, outs)
        continue
      }
      const header = { n: this.position + 1, at: tx.now, snapshot: this.snapshot }
      const writer = this.#ports.random.integer().toString(36)
      const entry: LogEntry = { ...header, writer, changes, ...(archive && { archive }) }
      if (await this.#create({ entry, body: encodeEntry(entry) })) return answer(batch, outs)
      await this.#follow(2)
      this.#pacing.lost()
      return this.#waiting.putBack(batch)
    }
  }

  /** The first archive proposal that still fits: a run that was packed may have been started again since. */
  #fitting(batch: readonly Pending[], { runs }: Changes): ArchiveChange | undefined {
    const proposals = batch.flatMap(({ write: { archive } }) => archive ?? [])
    if (proposals.length === 0) return undefined
    const changed = new Set(runs.map(({ runId }) => runId))
    const isStillEnded = (runId: string, upTo: number): boolean =>
      (this.endedIn.get(runId) ?? Number.POSITIVE_INFINITY) <= upTo && !changed.has(runId)
    return firstFitting(proposals, this.archive.state, this.now, isStillEnded)
  }

  // Only the archive knows whether a run that is not in the tables exists. A write that needs a lost segment is refused;
  // no other is. Returns the others.
  async #loadArchived(batch: readonly Pending[]): Promise<readonly Pending[]> {
    for (let before = -1; ; ) {
      try {
        for (const { write } of batch) await this.#loadArchivedFor(write)
        return batch
      } catch (error) {
        if (!(error instanceof SegmentGone)) throw error
        if (this.position === before) return this.#withoutLost(batch)
        before = this.position
        await this.#follow()
      }
    }
  }

  #loadArchivedFor({ runIds = [], workflowIds = [] }: PendingWrite<unknown>): Promise<void> {
    return this.archive.look(
      runIds.filter((id) => !this.tables.run(id)),
      workflowIds.filter((id) => !this.tables.names.has(id)),
    )
  }

  async #withoutLost(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const kept: Pending[] = []
    for (const pending of batch) {
      try {
        await this.#loadArchivedFor(pending.write)
        kept.push(pending)
      } catch (error) {
        if (!(error instanceof SegmentGone)) throw error
        pending.reject(error)
      }
    }
    return kept
  }

  // Creates the object; false if another process was faster. A request without an answer is sent again unchanged. After
  // the last try it may still arrive, but only under this number, where the next write finds it.
  async #create(sent: Sent): Promise<boolean> {
    const { clock, random } = this.#ports
    const how = { clock, random, patienceMs: limits.objectPatienceMs, signal: this.#over.signal }
    const sentAt = clock.monotonic()
    let tries = 0
    const isCreated = await this.#waiting.serveIf(() => persist(() => this.#createOnce(sent, ++tries), how))
    if (isCreated) this.#pacing.won(sentAt)
    return isCreated
  }

  async #createOnce({ entry, body }: Sent, tries: number): Promise<boolean> {
    const { bucket } = this.#ports
    const key = logKey(entry.n)
    const sentAt = this.#certainty.moment()
    const outcome = await bucket.create(key, body)
    if (tries === 1) this.#pacing.wrote(this.#certainty.moment().monotonic - sentAt.monotonic)
    if (outcome === 'exists' && !(await this.#isOwn(entry, tries))) return false
    if (!(await this.#isEnd(entry.n))) return false
    this.#certainty.renew(sentAt)
    this.#apply(entry, true)
    return true
  }

  // An existing object is this process's own only if an earlier request created it and its answer was lost.
  async #isOwn({ n, writer }: LogEntry, tries: number): Promise<boolean> {
    if (tries === 1) return false
    const key = logKey(n)
    const found = await this.#ports.bucket.get(key)
    return found !== undefined && decodeEntry(key, found).writer === writer
  }

  // Reads the objects of other processes.
  #follow(ahead = 1): Promise<void> {
    return this.#waiting.serve(() => this.#follower.follow(ahead))
  }

  // True if object n, created here, is new; false if its number had been used, covered by a snapshot and deleted.
  async #isEnd(n: number): Promise<boolean> {
    if (this.#certainty.holds) return true
    await this.#makeCertain()
    return this.position === n - 1
  }

  // If a snapshot covers the next object, that object may be deleted, and everything is read anew.
  async #makeCertain(): Promise<void> {
    const sentAt = this.#certainty.moment()
    const newest = (await listAll(this.#ports.bucket, SNAPSHOTS)).at(-1)
    if (!newest || numberIn(newest.key) <= this.position) return this.#certainty.renew(sentAt)
    await this.#open()
    this.#ports.tell([{ type: 'changed' }])
  }

  #apply(entry: LogEntry, isOwn: boolean): void {
    assert(entry.n === this.position + 1, 'the log is read in order, and once')
    this.touched.note(entry, this.tables.names)
    const hints = this.tables.apply(entry.changes, entry.at)
    this.position = entry.n
    this.at = entry.at
    this.noteSnapshot(entry.snapshot)
    for (const change of entry.changes.runs) noteEnd(this.endedIn, change, entry.n)
    if (entry.archive) this.#archived(entry.archive, entry.n)
    this.#ports.tell(hints)
    this.#ports.onAdvance(entry, isOwn)
  }

  #archived(change: ArchiveChange, number: number): void {
    this.archive.become(changedArchive(this.archive.state, change))
    for (const [runId, n] of this.endedIn) {
      if (n > change.upTo) continue
      this.tables.forget(runId)
      this.touched.noteGone(runId, number)
      this.endedIn.delete(runId)
    }
  }
}
