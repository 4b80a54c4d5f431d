// pawl on object storage alone. Every process keeps a copy of all unfinished runs in memory. The durable state is a log
// of numbered objects, each created once and never changed. One object carries all waiting writes, of any number of runs.

import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import type * as seam from '../../core/stores/driver.ts'
import {
  Groups,
  loadOne,
  loadStreams,
  matches,
  pageOf,
  position,
  rules,
  snapshot,
  Transaction,
} from '../../core/stores/driver.ts'
import type { Bucket } from './bucket.ts'
import { Compactor, type CompactorSettings } from './compactor.ts'
import { SegmentGone } from './errors.ts'
import { Poller } from './poller.ts'
import { Projector } from './projections/projector.ts'
import { Replica } from './replica.ts'
import type { PendingWrite } from './write-queue.ts'

export interface ObjectStoreOptions {
  readonly bucket: Bucket
  readonly clock: Clock
  readonly random?: Random
  readonly name?: string
  /** Whether to write projections for people; true when absent. */
  readonly projects?: boolean
  readonly settings?: Partial<CompactorSettings>
  /** Called with errors of background work, which no call can report. */
  readonly onError?: (error: unknown) => void
}

export const defaultSettings: CompactorSettings = {
  snapshotEvery: limits.snapshotObjects,
  snapshotBytes: limits.snapshotBytes,
  partBytes: limits.snapshotPartBytes,
  archiveAt: limits.segmentRuns,
  graceMs: limits.objectGraceMs,
}

export class ObjectStore implements seam.Store {
  readonly traits: seam.Traits
  readonly replica: Replica
  readonly compactor: Compactor
  readonly #bucket: Bucket
  readonly #poller: Poller
  readonly #projector: Projector | undefined
  readonly #listeners = new Set<(hint: seam.Hint) => void>()

  constructor(options: ObjectStoreOptions) {
    const { bucket, clock, random = systemRandom, onError = () => {} } = options
    const settings = { ...defaultSettings, ...options.settings }
    this.traits = { name: options.name ?? 's3', durability: 'service', lanes: 1, push: true }
    this.#bucket = bucket
    const tell = (hints: readonly seam.Hint[]): void => this.#tell(hints)
    const onAdvance = (...heard: Parameters<Compactor['advanced']>): void => {
      this.compactor.advanced(...heard)
      this.#projector?.advanced(...heard)
      this.#poller.advanced(heard[1])
    }
    this.replica = new Replica({
      bucket,
      clock,
      random,
      tell,
      onAdvance,
      graceMs: settings.graceMs,
    })
    this.compactor = new Compactor({
      replica: this.replica,
      bucket,
      clock,
      random,
      settings,
      onError,
    })
    this.#poller = new Poller(this.replica, clock)
    const projects = options.projects ?? true
    this.#projector = projects ? new Projector(this.replica, bucket, clock) : undefined
  }

  /** Reads the log, so that a bucket that cannot be read is reported early. */
  open(): Promise<void> {
    return this.replica.catchUp()
  }

  create(runs: readonly seam.NewRun[]): Promise<readonly seam.Created[]> {
    return this.#each(runs, (run) => ({
      apply: (tx) => rules.create(tx, run),
      runIds: [run.runId],
      workflowIds: run.reuse === 'allow' ? [] : [run.workflowId],
      mayBeStale: (out) => mayHaveChanged(run, out),
      bytes: run.input.length,
    }))
  }

  post(messages: readonly seam.Post[]): Promise<readonly seam.Posted[]> {
    return this.#each(messages, (message) => ({
      apply: (tx) => rules.post(tx, message),
      runIds: [message.runId],
      mayBeStale: ({ outcome }) => outcome === 'missing' || outcome === 'closed',
      bytes: message.message.body.length,
    }))
  }

  claim(request: seam.ClaimRequest): Promise<seam.Claimed> {
    return this.replica.submit({
      apply: (tx) => rules.claim(tx, request),
      mayBeStale: ({ runs, tasks }) => runs.length + tasks.length === 0,
    })
  }

  commit(turns: readonly seam.TurnCommit[]): Promise<readonly seam.Committed[]> {
    return this.#each(turns, (turn) => ({
      apply: (tx) => rules.commit(tx, turn),
      runIds: [turn.runId, ...turn.outbox.map(targetOf)],
      workflowIds: turn.outbox.flatMap(nameOf),
      bytes: turn.body.length,
    }))
  }

  settle(outcomes: readonly seam.TaskOutcome[]): Promise<readonly seam.TaskSettled[]> {
    return this.#each(outcomes, (outcome) => ({ apply: (tx) => rules.settle(tx, outcome) }))
  }

  note(notes: readonly seam.Note[]): Promise<readonly seam.Noted[]> {
    return this.#each(notes, (note) => ({
      apply: (tx) => rules.note(tx, note),
      mayBeStale: ({ body }) => body === undefined,
      bytes: note.body.length,
    }))
  }

  // A read needs no place in the log; it would only wait for a moment in which no other process writes.
  records(operations: readonly seam.RecordOperation[]): Promise<readonly seam.RecordOutcome[]> {
    if (operations.every(({ type }) => type !== 'put')) {
      return this.#read(async () => {
        const tx = new Transaction(this.replica.tables, this.replica.now)
        return operations.map((operation) => rules.operate(tx, operation))
      })
    }
    return this.#each(operations, (operation) => ({
      apply: (tx) => rules.operate(tx, operation),
      mayBeStale: () => true,
      bytes: operation.type === 'put' ? operation.body.length : 0,
    }))
  }

  append(batches: readonly seam.StreamBatch[]): Promise<readonly seam.Appended[]> {
    return this.#each(batches, (batch) => ({
      apply: (tx) => rules.append(tx, batch),
      runIds: [batch.runId],
      mayBeStale: ({ outcome }) => outcome === 'missing' || outcome === 'fenced',
      bytes: batch.body.length,
    }))
  }

  transfer(operations: readonly seam.TransferOperation[]): Promise<readonly seam.TransferOutcome[]> {
    return this.#each(operations, (operation) => ({
      apply: (tx) => rules.transfer(tx, operation),
      ...placesOf(operation),
      mayBeStale: () => true,
    }))
  }

  renew(beat: seam.SessionBeat): Promise<seam.Renewed> {
    // Closing a session must not overtake what its worker sent before.
    const urgent = !beat.close && { urgent: true as const }
    return this.replica.submit({ apply: (tx) => rules.renew(tx, beat), ...urgent })
  }

  load(asks: readonly seam.LoadAsk[]): Promise<readonly seam.Loaded[]> {
    return this.#read(() => Promise.all(asks.map((ask) => this.#loadOne(ask))))
  }

  list(query: seam.ListQuery): Promise<seam.Listed> {
    return this.#read(() => this.#list(query))
  }

  async #list(query: seam.ListQuery): Promise<seam.Listed> {
    const { tables, archive, now } = this.replica
    const here = [...tables.live.values(), ...tables.ended.values()].filter((row) => matches(row, query))
    if (query.groupBy) {
      const groups = new Groups(query.groupBy, here)
      for await (const row of archive.rowsOf(query)) groups.addRow(row)
      return { runs: [], groups: groups.largest(query.limit) }
    }
    if (query.count) {
      const { countMost = Number.POSITIVE_INFINITY } = query
      return { runs: [], count: Math.min(here.length + (await archive.count(query)), countMost) }
    }
    const { cursor } = query
    const found = [...here, ...(await archive.matching(query))]
      .filter((each) => cursor === undefined || position(each) < cursor)
      .sort((a, b) => (position(a) < position(b) ? 1 : -1))
    const page = found.slice(0, query.limit)
    const last = page.at(-1)
    const runs = await Promise.all(
      page.map(async (each): Promise<seam.RunSnapshot> => {
        if (!('segment' in each)) return snapshot(each, tables.turns.get(each.head.runId), now)
        const { row, turns } = await archive.read(each.segment, each.line)
        return snapshot(row, turns, now)
      }),
    )
    const more = found.length > page.length && last ? { cursor: position(last) } : {}
    return { runs, ...more }
  }

  wake(listener: (hint: seam.Hint) => void): () => void {
    this.#listeners.add(listener)
    this.#poller.start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#poller.stop()
    }
  }

  async close(): Promise<void> {
    this.#poller.stop()
    await this.compactor.close()
    await this.#projector?.close()
    await this.replica.close()
    await this.#bucket.close()
  }

  #each<In, Out>(items: readonly In[], writeOf: (item: In) => PendingWrite<Out>): Promise<readonly Out[]> {
    return Promise.all(items.map((item) => this.replica.submit(writeOf(item))))
  }

  // A segment that was merged into another while it was read is found in the newer state.
  async #read<T>(read: () => Promise<T>): Promise<T> {
    for (let before = -1; ; ) {
      await this.replica.catchUp()
      try {
        return await read()
      } catch (error) {
        if (!(error instanceof SegmentGone) || this.replica.position === before) throw error
        before = this.replica.position
      }
    }
  }

  async #loadOne(ask: seam.LoadAsk): Promise<seam.Loaded> {
    const { tables, archive, now } = this.replica
    if (ask.type === 'named') {
      const runId = tables.names.get(ask.workflowId) ?? (await archive.newestOf(ask.workflowId))
      return { type: 'named', ...(runId !== undefined && { runId }) }
    }
    if (!('runId' in ask) || ask.type === 'tasks' || ask.type === 'notes' || tables.run(ask.runId)) {
      return loadOne(tables, ask, now)
    }
    const ended = await archive.find(ask.runId)
    if (ask.type === 'stream' || ask.type === 'streams') return loadStreams(ended?.row, ended?.streams ?? [], ask)
    if (ask.type === 'history')
      return { type: 'history', turns: pageOf(ended?.turns ?? [], ended?.row.generation ?? 1, ask) }
    return { type: 'run', ...(ended && { run: snapshot(ended.row, ended.turns, now) }) }
  }

  #tell(hints: readonly seam.Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }
}

/** These answers may be out of date: the workflow id may be free by now, the run ended or continued. */
function mayHaveChanged({ runId }: seam.NewRun, out: seam.Created): boolean {
  if (out.outcome === 'existing') return out.runId !== runId || out.posted === 'closed'
  return out.outcome === 'refused'
}

/** What an operation needs to know of runs that ended long ago, and its size. */
function placesOf(operation: seam.TransferOperation): Pick<PendingWrite<unknown>, 'runIds' | 'workflowIds' | 'bytes'> {
  if (operation.type !== 'put') {
    const bytes = operation.type === 'append' ? operation.turns.reduce((sum, { body }) => sum + body.length, 0) : 0
    return { runIds: [operation.runId], bytes }
  }
  const { head, inbox, tasks } = operation.run
  const bytes = [head.input, ...[...inbox, ...tasks].map(({ body }) => body)].reduce(
    (sum, { length }) => sum + length,
    0,
  )
  return { runIds: [head.runId], workflowIds: [head.workflowId], bytes }
}

function targetOf(item: seam.Outbound): string {
  return item.type === 'post' ? item.runId : item.run.runId
}

function nameOf(item: seam.Outbound): string[] {
  return item.type === 'start' && item.run.reuse !== 'allow' ? [item.run.workflowId] : []
}
