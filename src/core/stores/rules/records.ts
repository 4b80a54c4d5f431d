// Shared values: compare and swap by version.
import type { RecordOperation, RecordOutcome, StoredRecord } from '../store.ts'
import type { RecordRow } from './row.ts'
import type { RowsTx } from './rows-tx.ts'

type Put = Extract<RecordOperation, { type: 'put' }>

export function operate(tx: RowsTx, operation: RecordOperation): RecordOutcome {
  if (operation.type === 'put') return put(tx, operation)
  const { space } = operation
  if (operation.type === 'get') {
    const there = tx.record(space, operation.key)
    return { type: 'get', ...(there && { record: shown(there) }) }
  }
  const rows = tx.recordsAfter(space, operation.after, operation.limit)
  return { type: 'list', records: rows.map(shown) }
}

function put(tx: RowsTx, { space, key, version, body, writeId }: Put): RecordOutcome {
  const there = tx.record(space, key)
  // Sent again, because its answer was lost.
  const isDone = there?.writeId === writeId && there.version === version + 1
  if (!isDone && (there?.version ?? 0) !== version)
    return { type: 'put', outcome: 'conflict', ...(there && { record: shown(there) }) }
  if (!isDone) tx.putRecord({ space, key, version: version + 1, body, writeId })
  return { type: 'put', outcome: 'applied' }
}

function shown({ key, version, body }: RecordRow): StoredRecord {
  return { key, version, body }
}
