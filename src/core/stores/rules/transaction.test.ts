// What a transaction shows while it is made is what its changes come to.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { message, newRun } from '../../../testing/conformance/builders.ts'
import { create, post } from './index.ts'
import { Tables } from './tables.ts'
import { Transaction } from './transaction.ts'

const action = fc.record({ id: fc.constantFrom('a', 'b', 'c'), takes: fc.boolean() })

function inboxAfter(tables: Tables, actions: readonly { id: string; takes: boolean }[]): unknown {
  const tx = new Transaction(tables, 1)
  create(tx, newRun('run'))
  for (const { id, takes } of actions) {
    const row = tx.run('run')
    if (!takes) post(tx, { runId: 'run', message: message(id) })
    else if (row) tx.take(row, [id])
  }
  const shown = tx.run('run')?.inbox
  tables.apply(tx.changes(), 1)
  return shown
}

test('messages that are posted and taken in any order are those that are left, in their order', () => {
  fc.assert(
    fc.property(fc.array(fc.array(action)), (transactions) => {
      const tables = new Tables()
      for (const actions of transactions) {
        const shown = inboxAfter(tables, actions)
        expect(tables.run('run')?.inbox).toEqual(shown)
      }
    }),
  )
})
