// Shared values in SQLite. Within a transaction if anything is to be changed, and without one if not.
import type { RecordOperation, RecordOutcome, StoredRecord } from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

type Put = Extract<RecordOperation, { type: 'put' }>
type RecordColumns = StoredRecord & { readonly write_id: number }

export function operate(sql: Statements, operation: RecordOperation): RecordOutcome {
  if (operation.type === 'put') return put(sql, operation)
  const { space } = operation
  if (operation.type === 'get') {
    const there = find(sql, space, operation.key)
    return { type: 'get', ...(there && { record: shown(there) }) }
  }
  const rows = sql.records.all(space, operation.after ?? '', operation.limit) as unknown
  return { type: 'list', records: (rows as StoredRecord[]).map(shown) }
}

function put(sql: Statements, { space, key, version, body, writeId }: Put): RecordOutcome {
  const there = find(sql, space, key)
  // Sent again, because its answer was lost.
  const isDone = there?.write_id === writeId && there.version === version + 1
  if (!isDone && (there?.version ?? 0) !== version)
    return { type: 'put', outcome: 'conflict', ...(there && { record: shown(there) }) }
  if (!isDone) sql.putRecord.run(space, key, version + 1, writeId, body)
  return { type: 'put', outcome: 'applied' }
}

function find(sql: Statements, space: string, key: string): RecordColumns | undefined {
  return sql.record.get(space, key) as RecordColumns | undefined
}

function shown({ key, version, body }: StoredRecord): StoredRecord {
  return { key, version, body }
}
