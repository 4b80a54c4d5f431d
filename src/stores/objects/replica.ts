// This process's copy of what the log says. All that changes it goes through one pump, one thing at a time: adding an
// object to the log, or reading those that others added.
//
// The writer of object n has read all before it and creates it only if nobody else has: that alone makes everything
// in it true. Whoever comes second reads what the other wrote, judges its own wishes anew, and tries the next number.
import { assert } from '../../core/base/assert.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
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
import { LOG, logKey, numberIn, SNAPSHOTS } from './layout.ts'
import { listAll, pages } from './listing.ts'
import { damaged, Follower, numbersUpTo, readLog } from './log.ts'
import { type ArchiveChange, changedArchive, firstFitting } from './segment.ts'
import { notBefore } from './server-time.ts'
import { beginning, restore, type Snapshot } from './snapshot.ts'
import { isStale, judge, type Wish } from './wish.ts'
import { WriteBackoff } from './write-backoff.ts'
import { answer, type Pending, WriteQueue } from './write-queue.ts'

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
  /** The newest snapshot anybody was heard of. */
  snapshot = 0
  /** In which log object runs ended that are not archived. */
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
        if (this.#waiting.hasWishes) this.#pacing.met()
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

  /** Has the wish judged, and what comes of it made durable. */
  submit<Out>(wish: Wish<Out>): Promise<Out> {
    return new Promise<Out>((resolve, reject) => {
      if (this.#over.signal.aborted) return reject(unavailable(this.#ports.bucket.name, 'the store is closed'))
      this.#waiting.wish({ wish: wish as Wish<unknown>, resolve, reject })
      this.#pump.start()
    })
  }

  /** Resolves when all that was durable at the time of the call is part of `tables`. */
  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#over.signal.aborted) return reject(unavailable(this.#ports.bucket.name, 'the store is closed'))
      this.#waiting.reader({ resolve, reject })
      this.#pump.start()
    })
  }

  /** The state as it is at this moment. */
  dump(): Snapshot {
    const { tables, endedIn, position, at } = this
    return { n: position, at, archive: this.archive.state, tables, endedIn }
  }

  /** There is a snapshot of this number. */
  heardOf(snapshot: number): void {
    if (snapshot <= this.snapshot) return
    this.snapshot = snapshot
    this.touched.forget(snapshot)
  }

  /** Takes nothing new, and waits for what is under way. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.#pump.idle()
  }

  // Reads everything anew: the newest snapshot, and the log behind it.
  async #open(): Promise<void> {
    for (let before: string | undefined; ; ) {
      const asked = this.#certainty.moment()
      const keys = (await listAll(this.#ports.bucket, SNAPSHOTS)).map(({ key }) => key).reverse()
      const lost = await this.#restore(keys)
      const gap = await this.#readLog()
      if (gap === undefined) {
        this.#certainty.renew(asked)
        this.#isOpen = true
        // It took so long that what was read may have been swept away and written anew meanwhile.
        if (this.#certainty.holds) return
        continue
      }
      // Swept away since, if there is a newer snapshot now.
      if (before !== undefined && before === (keys[0] ?? '')) throw damaged(lost ?? gap)
      before = keys[0] ?? ''
    }
  }

  // Takes over the first of these snapshots that is whole: one that was finished after parts of it had been swept away is
  // not. Without any, the log must begin at its beginning. Answers with the key of the first object that is missing.
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
    const grants = this.#waiting.hasWishes && pauseMs === 0
    if (grants) await this.#grant(this.#waiting.take())
    // Also readers that came while something was written: they do not wait for the next write.
    if (this.#waiting.hasReaders) await this.#look().catch(() => {})
    else if (!grants) await this.#pause(pauseMs)
  }

  // Others may write meanwhile. Whoever only wants to read does not wait for it, and neither does what is urgent.
  async #pause(ms: number): Promise<void> {
    const over = new AbortController()
    this.#waiting.onHurry = () => over.abort()
    await sleep(this.#ports.clock, ms, AbortSignal.any([over.signal, this.#over.signal]))
    this.#waiting.onHurry = () => {}
  }

  // Serves those who wait to see the end of the log; they are told if it cannot be.
  #look(): Promise<void> {
    return this.#isOpen ? this.#follow() : this.#waiting.serve(() => this.#open())
  }

  async #grant(batch: readonly Pending[]): Promise<void> {
    try {
      if (!this.#isOpen) await this.#open()
      await this.#write(batch)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  // If somebody else is faster, what they wrote is read, and all waits for its next turn.
  async #write(given: readonly Pending[]): Promise<void> {
    let batch = given
    for (let hasLooked = false; ; hasLooked = true) {
      batch = await this.#lookBack(batch)
      const tx = new Transaction(this.tables, this.now, this.archive)
      const outs = batch.map(({ wish }) => judge(wish, tx))
      const changes = tx.changes()
      const archive = this.#fitting(batch, changes)
      if (isEmpty(changes) && !archive) {
        // Nothing to write, and so nothing that would tell whether others had written before they were asked for this.
        if (hasLooked || !batch.some(({ wish }, index) => isStale(wish, outs[index]))) return answer(batch, outs)
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

  // What was packed may have begun again since.
  #fitting(batch: readonly Pending[], { runs }: Changes): ArchiveChange | undefined {
    const wishes = batch.flatMap(({ wish: { archive } }) => archive ?? [])
    if (wishes.length === 0) return undefined
    const awake = new Set(runs.map(({ runId }) => runId))
    const rests = (runId: string, upTo: number): boolean =>
      (this.endedIn.get(runId) ?? Number.POSITIVE_INFINITY) <= upTo && !awake.has(runId)
    return firstFitting(wishes, this.archive.state, this.now, rests)
  }

  // Whether a run that is not among the tables exists at all, only the archive knows. What needs a segment that is lost
  // is refused for it, and nothing else is. Answers with the rest.
  async #lookBack(batch: readonly Pending[]): Promise<readonly Pending[]> {
    for (let before = -1; ; ) {
      try {
        for (const { wish } of batch) await this.#lookFor(wish)
        return batch
      } catch (error) {
        if (!(error instanceof SegmentGone)) throw error
        if (this.position === before) return this.#withoutLost(batch)
        before = this.position
        await this.#follow()
      }
    }
  }

  #lookFor({ runIds = [], workflowIds = [] }: Wish<unknown>): Promise<void> {
    return this.archive.look(
      runIds.filter((id) => !this.tables.run(id)),
      workflowIds.filter((id) => !this.tables.names.has(id)),
    )
  }

  async #withoutLost(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const rest: Pending[] = []
    for (const pending of batch) {
      try {
        await this.#lookFor(pending.wish)
        rest.push(pending)
      } catch (error) {
        if (!(error instanceof SegmentGone)) throw error
        pending.reject(error)
      }
    }
    return rest
  }

  // Creates the object; false if somebody else was faster. What gets no answer is sent again as it was. When patience is
  // over it may still land, but only under this number: whatever is tried next meets it there.
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
    const asked = this.#certainty.moment()
    const outcome = await bucket.create(key, body)
    if (tries === 1) this.#pacing.wrote(this.#certainty.moment().monotonic - asked.monotonic)
    if (outcome === 'exists' && !(await this.#isOwn(entry, tries))) return false
    if (!(await this.#isEnd(entry.n))) return false
    this.#certainty.renew(asked)
    this.#apply(entry, true)
    return true
  }

  // An object that is there is this process's own only if an earlier request created it whose answer was lost.
  async #isOwn({ n, writer }: LogEntry, tries: number): Promise<boolean> {
    if (tries === 1) return false
    const key = logKey(n)
    const there = await this.#ports.bucket.get(key)
    return there !== undefined && decodeEntry(key, there).writer === writer
  }

  // Reads what others wrote.
  #follow(ahead = 1): Promise<void> {
    return this.#waiting.serve(() => this.#follower.follow(ahead))
  }

  // Whether object n, which was created here, is new, and not a number that was used, covered by a snapshot and deleted.
  async #isEnd(n: number): Promise<boolean> {
    if (this.#certainty.holds) return true
    await this.#makeCertain()
    return this.position === n - 1
  }

  // If a snapshot covers what comes next, that may be gone, and everything is read anew.
  async #makeCertain(): Promise<void> {
    const asked = this.#certainty.moment()
    const newest = (await listAll(this.#ports.bucket, SNAPSHOTS)).at(-1)
    if (!newest || numberIn(newest.key) <= this.position) return this.#certainty.renew(asked)
    await this.#open()
    this.#ports.tell([{ type: 'changed' }])
  }

  #apply(entry: LogEntry, own: boolean): void {
    assert(entry.n === this.position + 1, 'the log is read in order, and once')
    this.touched.note(entry, this.tables.names)
    const hints = this.tables.apply(entry.changes, entry.at)
    this.position = entry.n
    this.at = entry.at
    this.heardOf(entry.snapshot)
    for (const change of entry.changes.runs) noteEnd(this.endedIn, change, entry.n)
    if (entry.archive) this.#archived(entry.archive, entry.n)
    this.#ports.tell(hints)
    this.#ports.onAdvance(entry, own)
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
