// Streams as SQLite and Postgres read them. A page is read in two statements; what was added between them is left out.
import type { LoadAsk, StoredBatch, StreamPage, StreamPart, StreamSnapshot } from '../../core/stores/driver.ts'
import type { Dialect } from './texts.ts'

/** How a run stands, and a row of a stream if there is one. */
interface StateColumns {
  readonly ended: boolean | number
  readonly generation: number
  readonly name: string | null
  readonly items: number
  readonly bytes: number
  readonly parts: number
  readonly closed_in: number
}

export interface StreamColumns extends StateColumns {
  /** As JSON, or parsed from it. */
  readonly part_rows: string | readonly StreamPart[] | null
}

export type PageAsk = Extract<LoadAsk, { type: 'stream' }>

const PART = ['number', 'writer', 'chapter', 'generation', 'attempt', 'keep', 'items'] as const

export function streamTexts({ table, jsonRows }: Dialect) {
  const state = `closed.run_id is not null as ended, coalesce(live.generation, closed.generation) as generation,
    s.name, s.items, s.bytes, s.parts, s.closed_in`
  const joins = `left join ${table('live')} live on live.run_id = run.run_id
    left join ${table('closed')} closed on closed.run_id = run.run_id`
  return {
    streams: `select ${state} from ${table('run')} run ${joins}
      left join ${table('stream')} s on s.run_id = run.run_id where run.run_id = ? order by s.name`,
    stream: `select ${state}, (select ${jsonRows(PART, 'p', 'p.number')} from ${table('stream_part')} p
        where p.run_id = s.run_id and p.name = s.name and p.number >= ?) as part_rows
      from ${table('run')} run ${joins}
      left join ${table('stream')} s on s.run_id = run.run_id and s.name = ? where run.run_id = ?`,
    batches: `select first, count, part, body from ${table('stream_batch')} where run_id = ? and name = ?
      and first >= coalesce((select max(first) from ${table('stream_batch')} b where b.run_id = ? and b.name = ? and b.first <= ?), 0)
      order by first limit ?`,
  } as const
}

/** The values of the two statements that read a page. */
export function pageValues({ runId, stream, from, batches, parts }: PageAsk): {
  readonly stream: readonly (string | number)[]
  readonly batches: readonly (string | number)[]
} {
  return { stream: [parts, stream, runId], batches: [runId, stream, runId, stream, from, batches] }
}

export function streamsOf(rows: readonly StateColumns[]): StreamSnapshot[] | undefined {
  if (rows.length === 0) return undefined
  return rows.flatMap((row) => {
    const { name, items, bytes, parts } = row
    return name === null
      ? []
      : [{ name, items: Number(items), bytes: Number(bytes), parts: Number(parts), closed: isClosed(row) }]
  })
}

export function pageOfRows(
  [row]: readonly StreamColumns[],
  found: readonly StoredBatch[],
  from: number,
): StreamPage | undefined {
  if (!row) return undefined
  const closed = isClosed(row)
  if (row.name === null) return { items: 0, closed, parts: [], batches: [] }
  const { part_rows: parts } = row
  const items = Number(row.items)
  const batches = found.flatMap(({ first, count, part, body }) => {
    const batch = { first: Number(first), count: Number(count), part: Number(part), body }
    return batch.first + batch.count > from && batch.first < items ? [batch] : []
  })
  return { items, closed, parts: (typeof parts === 'string' ? JSON.parse(parts) : parts) ?? [], batches }
}

function isClosed({ ended, closed_in, generation }: StateColumns): boolean {
  return Boolean(ended) || closed_in === generation
}
