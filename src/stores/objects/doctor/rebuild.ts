// Writes all projections again (`pawl doctor --rebuild`). Workers may run meanwhile.
import { PawlError } from '../../../core/base/errors.ts'
import type { Instant } from '../../../core/base/time.ts'
import type { Bucket } from '../bucket.ts'
import { forEach } from '../bucket.ts'
import { keySegment, listAll, NAMES, nameKey, pages, RUNS } from '../layout.ts'
import { type Projected, projectionOf, updatedAtIn } from '../projections/projection.ts'
import type { EndedRun, Segment } from '../segment.ts'
import { AT_ONCE, BucketCheck, RESTORE } from './bucket-check.ts'
import { openSegment } from './integrity.ts'
import type { LogState } from './log-state.ts'

export interface RebuildOptions {
  /** Runs written at the same time. */
  readonly atOnce?: number
}

/** Writes the projections of every run, deletes those of deleted runs, and returns how many objects it changed. */
export function rebuild(bucket: Bucket, options: RebuildOptions = {}): Promise<number> {
  return new Rebuilding(bucket, options).rebuild()
}

class Rebuilding {
  readonly #bucket: Bucket
  readonly #atOnce: number
  readonly #folders = new Set<string>()
  /** The projection of the newest run of each workflow id, by key. */
  readonly #names = new Map<string, { readonly createdAt: Instant; readonly body: string }>()
  #changed = 0

  constructor(bucket: Bucket, { atOnce = AT_ONCE }: RebuildOptions) {
    this.#bucket = bucket
    this.#atOnce = atOnce
  }

  async rebuild(): Promise<number> {
    // Projections are listed before the state is read, so that those of no run in it can be deleted safely.
    const folders = new Set<string>()
    for await (const page of pages(this.#bucket, RUNS)) {
      for (const { key } of page) folders.add(key.split('/')[1] ?? '')
    }
    const names: string[] = []
    for await (const page of pages(this.#bucket, NAMES)) names.push(...page.map(({ key }) => key))
    const { tables } = await this.#writeEnded()
    const rows = [...tables.ended.values(), ...tables.live.values()]
    await this.#write(rows.map((row) => ({ row, turns: tables.turns.get(row.head.runId) ?? [] })))
    await forEach(this.#names, this.#atOnce, ([key, { body }]) => this.#refresh({ key, body }))
    await this.#delete(names.filter((key) => !this.#names.has(key)))
    for (const folder of folders) {
      if (this.#folders.has(folder)) continue
      const gone = await listAll(this.#bucket, `${RUNS}${folder}/`)
      await this.#delete(gone.map(({ key }) => key))
    }
    return this.#changed
  }

  /** Writes the runs of all segments, one segment at a time, and returns the state that lists the segments. */
  async #writeEnded(): Promise<LogState> {
    const written = new Set<string>()
    let fold = await new BucketCheck(this.#bucket).state()
    let lost: string | undefined
    for (;;) {
      const segment = fold.archive.segments.find(({ key }) => !written.has(key))
      if (!segment) return fold
      const body = await this.#bucket.get(segment.key)
      if (body !== undefined) {
        await this.#write(readRuns(segment, body))
        written.add(segment.key)
      } else if (lost === segment.key) throw damaged(segment.key, 'is missing')
      else {
        // A worker may have merged it into another segment meanwhile.
        lost = segment.key
        fold = await new BucketCheck(this.#bucket).state()
      }
    }
  }

  async #write(runs: readonly EndedRun[]): Promise<void> {
    await forEach(runs, this.#atOnce, async ({ row, turns }) => {
      const { runId, workflowId, createdAt } = row.head
      this.#folders.add(keySegment(runId))
      for (const { key, body } of projectionOf(row, turns)) {
        if (key !== nameKey(workflowId)) await this.#refresh({ key, body })
        else if (!((this.#names.get(key)?.createdAt ?? 0) > createdAt)) this.#names.set(key, { createdAt, body })
      }
    })
  }

  // Writes only what differs, because reading is cheaper, and never replaces what a worker has written since.
  async #refresh({ key, body }: Projected): Promise<void> {
    const there = await this.#bucket.get(key)
    if (there === body) return
    if (there !== undefined && updatedAtIn(there) > updatedAtIn(body)) return
    await this.#bucket.put(key, body)
    this.#changed++
  }

  async #delete(keys: readonly string[]): Promise<void> {
    await this.#bucket.delete(keys)
    this.#changed += keys.length
  }
}

function readRuns(segment: Segment, body: string): readonly EndedRun[] {
  const { runs, faults } = openSegment(segment, body)
  const [fault] = faults
  if (fault !== undefined) throw damaged(segment.key, fault)
  return runs
}

function damaged(key: string, fault: string): PawlError {
  return new PawlError('STORE_UNSUITABLE', `${key} ${fault}. ${RESTORE}`)
}
