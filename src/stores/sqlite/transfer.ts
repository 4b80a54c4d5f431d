// Whole runs on their way to another store: runs the shared statements in a transaction of SQLite.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { TransferOperation, TransferOutcome } from '../../core/stores/driver.ts'
import { SqlTransfer, type TransferDialect } from '../sql/transfer.ts'
import type { SqliteRows } from './rows.ts'

const dialect: TransferDialect = {
  table: (name) => `pawl_${name}`,
  boolean: Number,
  // A transaction that writes is the only one.
  locks: () => [],
  createdInClosed: true,
}

export function transferred(database: DatabaseSync, rows: SqliteRows, operation: TransferOperation): TransferOutcome {
  const steps = new SqlTransfer(dialect, rows.now, rows.hints).run(operation)
  for (let next = steps.next(); ; ) {
    if (next.done) return next.value
    const { text, values } = next.value
    next = steps.next(database.prepare(text).all(...(values as SQLInputValue[])))
  }
}
