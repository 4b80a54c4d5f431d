// Streams: who may write to one, and where items go.
import { limits } from '../../base/limits.ts'
import type { Appended, StreamBatch, StreamItems, StreamTurn } from '../stream.ts'
import { RUN_WRITER } from '../values.ts'
import type { RowsTx, Run } from './rows-tx.ts'
import { isHolder } from './session.ts'
import type { PartRow, StreamRow } from './stream-rows.ts'

export function append(tx: RowsTx, batch: StreamBatch): Appended {
  const { runId, stream: name, n } = batch
  const run = tx.runInProgress(runId)
  if (!run) return { outcome: tx.digest(runId) === undefined ? 'missing' : 'closed' }
  if (run.generation !== batch.generation || !mayWrite(tx, run, batch)) return { outcome: 'fenced' }
  const stream = tx.stream(runId, name)
  const newest = stream && tx.newestPart(runId, name, batch)
  const part = newest && isSame(newest, batch) ? newest : undefined
  if (newest && !part && isBefore(batch, newest)) return { outcome: 'fenced' }
  if (part && n < part.batches) {
    const offset = tx.offsetOf(runId, name, { part: part.number, n })
    return { outcome: 'duplicate', ...(offset !== undefined && { offset }) }
  }
  // After a fail-over, what the attempt wants to keep may be lost.
  const isKept = part !== undefined || batch.keep <= (newest ? newest.keep + newest.items : 0)
  if (n !== (part?.batches ?? 0) || !isKept) return { outcome: 'gap' }
  if (stream?.closedIn === run.generation) return { outcome: 'closed' }
  if (isFull(tx, batch, stream, part === undefined)) return { outcome: 'full' }
  const offset = write(tx, runId, stream ?? newStream(name), part ?? batch, batch)
  return { outcome: 'applied', ...(batch.items > 0 && { offset }) }
}

function mayWrite(tx: RowsTx, run: Run, { runId, lease, taskId }: StreamBatch): boolean {
  if (taskId === undefined) return isHolder(run, lease)
  const task = tx.task(taskId)
  return task?.runId === runId && isHolder(task, lease)
}

function isSame(part: PartRow, { generation, attempt, partId }: StreamBatch): boolean {
  return part.generation === generation && part.attempt === attempt && part.partId === partId
}

/** A late packet of an earlier attempt, which may travel under the same lease. */
function isBefore({ generation, attempt }: StreamBatch, newest: PartRow): boolean {
  return generation < newest.generation || (generation === newest.generation && attempt < newest.attempt)
}

function isFull(tx: RowsTx, batch: StreamBatch, stream: StreamRow | undefined, isPart: boolean): boolean {
  if (!stream) return tx.countStreams(batch.runId) >= limits.streamsOfRun
  if (stream.items + batch.items > limits.streamItemsMax) return true
  return stream.bytes + batch.bytes > limits.streamBytesMax || (isPart && stream.parts >= limits.streamPartsMax)
}

/** What a turn writes and closes. The turn itself is fenced and written once, and its size is bounded. */
export function writeStreams(tx: RowsTx, run: Run, streams: readonly StreamTurn[]): void {
  const { generation, head } = run
  for (const each of streams) {
    const stream = tx.stream(head.runId, each.stream) ?? newStream(each.stream)
    if (each.type === 'close') {
      tx.putStream(head.runId, { ...stream, closedIn: generation })
      continue
    }
    const of = { writer: RUN_WRITER, chapter: each.chapter }
    const newest = tx.newestPart(head.runId, each.stream, of)
    const part = { ...of, generation, attempt: 0, keep: each.keep, partId: 0 }
    write(tx, head.runId, stream, newest?.generation === generation ? newest : part, each)
  }
}

type NewPart = Pick<PartRow, 'writer' | 'chapter' | 'generation' | 'attempt' | 'keep' | 'partId'>

/** Adds a batch, and its part if that is new. Returns the offset of its first item. */
function write(
  tx: RowsTx,
  runId: string,
  stream: StreamRow,
  of: PartRow | NewPart,
  { items, bytes, body }: StreamItems,
): number {
  const first = stream.items
  const isKnown = 'number' in of
  const { number, batches, items: before } = isKnown ? of : { number: stream.parts, batches: 0, items: 0 }
  const { writer, chapter, generation, attempt, keep, partId } = of
  tx.putStream(
    runId,
    { ...stream, items: first + items, bytes: stream.bytes + bytes, parts: stream.parts + (isKnown ? 0 : 1) },
    { number, writer, chapter, generation, attempt, keep, partId, items: before + items, batches: batches + 1 },
    items > 0 ? { first, count: items, part: number, n: batches, body } : undefined,
  )
  return first
}

function newStream(name: string): StreamRow {
  return { name, items: 0, bytes: 0, parts: 0, closedIn: 0 }
}
