// The reading half of the SQLite store. Nothing here writes.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import {
  type HistoryPage,
  type Listed,
  type ListQuery,
  type LoadAsk,
  type Loaded,
  type StoredTurn,
} from '../../core/stores/driver.ts'
import { loadedOf, type PlainAsk, valuesOf } from '../sql/loaded.ts'
import { type TurnColumns, turnOf } from '../sql/rows.ts'
import { RunLister, type Slice } from './list.ts'
import type { Statements } from './statements.ts'

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #sql: Statements
  readonly #version: StatementSync

  constructor(database: DatabaseSync, sql: Statements) {
    this.#database = database
    this.#sql = sql
    this.#version = database.prepare('pragma data_version')
  }

  load(ask: LoadAsk, now: number): Loaded {
    if (ask.type !== 'history') return loadedOf(ask, this.#statementOf(ask).all(...valuesOf(ask)), now)
    const generation = ask.generation ?? this.#generation(ask.runId)
    return { type: 'history', ...this.#page(ask.runId, generation, ask.after, ask.turns) }
  }

  #statementOf({ type }: PlainAsk): StatementSync {
    const { snapshot: run, newest: named, tasksOfRun: tasks, notes, sessions } = this.#sql
    return { run, named, tasks, notes, sessions }[type]
  }

  list(query: ListQuery, slice: Slice): Promise<Listed> {
    return new RunLister(this.#database, query, slice).list()
  }

  dataVersion(): number {
    return (this.#version.get() as { data_version: number }).data_version
  }

  #page(runId: string, generation: number, after: number, most: number): HistoryPage {
    const turns: StoredTurn[] = []
    let bytes = 0
    for (const row of this.#sql.history.iterate(runId, after, most, generation)) {
      const turn = turnOf(row as unknown as TurnColumns)
      turns.push(turn)
      bytes += turn.body.length
      if (bytes >= limits.historyPageBytes) return { turns, more: true }
    }
    return { turns }
  }

  #generation(runId: string): number {
    const row = this.#sql.generation.get(runId, runId) as { generation: number } | undefined
    return row?.generation ?? 1
  }
}
