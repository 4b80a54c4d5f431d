// Writes the objects for people anew, as `pawl doctor --rebuild` does. Workers may go on meanwhile.
import { PawlError } from '../../../core/base/errors.ts'
import type { Instant } from '../../../core/base/instant.ts'
import type { Bucket } from '../bucket.ts'
import { forEach } from '../for-each.ts'
import { keySegment, NAMES, nameKey, RUNS } from '../layout.ts'
import { listAll, pages } from '../listing.ts'
import { type Projected, projectionOf, updatedAtIn } from '../projections/projection.ts'
import type { EndedRun, Segment } from '../segment.ts'
import { AT_ONCE, BucketCheck, RESTORE } from './bucket-check.ts'
import { openSegment } from './integrity.ts'
import type { LogState } from './log-state.ts'

export interface RebuildOptions {
  /** Runs that are written at a time. */
  readonly atOnce?: number
}

/** Writes the projections of every run, deletes those of runs that are gone, and says how many objects it changed. */
export function rebuild(bucket: Bucket, options: RebuildOptions = {}): Promise<number> {
  return new Rebuilding(bucket, options).rebuild()
}

class Rebuilding {
  readonly #bucket: Bucket
  readonly #atOnce: number
  readonly #folders = new Set<string>()
  /** The newest run of each name. */
  readonly #names = new Map<string, { readonly createdAt: Instant; readonly body: string }>()
  #changed = 0

  constructor(bucket: Bucket, { atOnce = AT_ONCE }: RebuildOptions) {
    this.#bucket = bucket
    this.#atOnce = atOnce
  }

  async rebuild(): Promise<number> {
    // What is there before the state is read belongs to a run in that state, or to none.
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

  /** Writes what is in segments, one at a time, and answers with the state that lists them. */
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
        // It may have been merged into another one meanwhile.
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
        else if (!((this.#names.get(key)?.createdAt ?? 0) > createdAt))
          this.#names.set(key, { createdAt, body })
      }
    })
  }

  // Reading costs less than writing, and a worker may have written something newer meanwhile.
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
