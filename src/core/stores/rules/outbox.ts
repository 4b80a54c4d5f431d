// What a turn sends to other runs.
import type { Outbound } from '../store.ts'
import { create } from './create.ts'
import { post } from './post.ts'
import type { RowsTx } from './rows-tx.ts'

/** Delivers what a turn of `sender` sends to other runs. */
export function deliver(tx: RowsTx, sender: string, outbox: readonly Outbound[]): void {
  for (const item of outbox) {
    if (item.type === 'post') post(tx, item)
    else if (create(tx, item.run).outcome === 'refused') post(tx, { runId: sender, message: item.otherwise })
  }
}
