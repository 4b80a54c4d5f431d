// Reads the answer of a claim about granted runs.

import type { ClaimedRun, StoredMessage } from '../../core/stores/driver.ts'
import { type ClaimedColumns, claimedRunOf } from '../sql/rows.ts'
import { CLAIMED } from './functions/claimed.ts'

export interface ClaimedAnswer {
  readonly runs: readonly (readonly unknown[])[]
  readonly messages: Readonly<Record<string, readonly StoredMessage[]>> | null
}

const columns = Object.keys(CLAIMED)

export function claimedRunsOf({ runs, messages }: ClaimedAnswer): ClaimedRun[] {
  return runs.map((values) => {
    const row: Record<string, unknown> = {}
    for (const [index, column] of columns.entries()) row[column] = values[index]
    const read = row as unknown as ClaimedColumns
    return claimedRunOf(read, messages?.[read.run_id] ?? [])
  })
}
