// The rows of streams in a file, as the rules read and write them.
import type { StatementSync } from 'node:sqlite'
import type * as seam from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

export class SqliteStreamRows {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  deleteStreams(runId: string): void {
    const { deleteStreams, deleteParts, deleteBatches } = this.#sql
    for (const each of [deleteStreams, deleteParts, deleteBatches]) each.run(runId)
  }

  stream(runId: string, name: string): seam.StreamRow | undefined {
    return one(this.#sql.stream, runId, name)
  }

  countStreams(runId: string): number {
    return one<{ count: number }>(this.#sql.countStreams, runId)?.count ?? 0
  }

  newestPart(
    runId: string,
    name: string,
    { writer, chapter }: Pick<seam.PartRow, 'writer' | 'chapter'>,
  ): seam.PartRow | undefined {
    return one(this.#sql.newestPart, runId, name, writer, chapter)
  }

  offsetOf(runId: string, name: string, { part, n }: Pick<seam.BatchRow, 'part' | 'n'>): number | undefined {
    return one<{ first: number }>(this.#sql.streamBatch, runId, name, part, n)?.first
  }

  putStream(runId: string, row: seam.StreamRow, part?: seam.PartRow, batch?: seam.BatchRow): void {
    const { putStream, putPart, insertBatch } = this.#sql
    const { name } = row
    putStream.run(runId, name, row.items, row.bytes, row.parts, row.closedIn)
    if (part) {
      const { number, writer, chapter, generation, attempt, partId, keep, items, batches } = part
      putPart.run(runId, name, number, writer, chapter, generation, attempt, partId, keep, items, batches)
    }
    if (batch) insertBatch.run(runId, name, batch.first, batch.count, batch.part, batch.n, batch.body)
  }
}

function one<T>(statement: StatementSync, ...args: (string | number)[]): T | undefined {
  return statement.get(...args) as T | undefined
}
