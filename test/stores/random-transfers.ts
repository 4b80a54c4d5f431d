// Random operations of moves, on the rows of a memory store.
import { MOVER, type TransferOperation, type WholeRun } from '../../src/core/stores/moving.ts'
import type { RunRow } from '../../src/core/stores/rules/row.ts'
import type { Tables } from '../../src/core/stores/rules/tables.ts'
import { Transaction } from '../../src/core/stores/rules/transaction.ts'
import { wholeOf } from '../../src/core/stores/rules/transfer.ts'
import { digestOfRun } from '../../src/core/stores/run-digest.ts'
import { LARGE, type RandomDraws } from './random-draws.ts'

const MOVES = [LARGE + 1, LARGE + 2]
const PLACES = ['sqlite:/there.db', 'postgres://there/database']

export function randomTransfers(draws: RandomDraws, tables: Tables, now: number): readonly TransferOperation[] {
  const operation = randomTransfer(draws, tables, now)
  return operation ? [operation] : []
}

function randomTransfer(draws: RandomDraws, tables: Tables, now: number): TransferOperation | undefined {
  const held = [...tables.live.values()].filter(({ session }) => session === MOVER)
  const rows =
    draws.chance(0.6) && held.length > 0 ? held : [...(draws.chance(0.7) ? tables.live : tables.ended).values()]
  if (rows.length === 0) return undefined
  const row = draws.pick(rows)
  const { runId } = row.head
  const isKnown = row.session === MOVER && draws.chance(0.9)
  const move = isKnown ? row.nonce : draws.pick(MOVES)
  const whole = wholeOf(new Transaction(tables, now), row)
  const dice = draws.below(100)
  if (dice < 35) return { type: 'hold', runId: draws.chance(0.97) ? runId : draws.id(), move }
  if (dice < 50) return { type: 'free', runId, move }
  if (dice < 55) return { type: 'read', runId }
  if (dice < 68)
    return { type: 'leave', runId, move, seen: draws.chance(0.9) ? digestOfRun(whole) : 'none', to: draws.pick(PLACES) }
  if (dice < 90) {
    const run = draws.chance(0.4) ? whole : another(draws, whole)
    return { type: 'put', move, run, ...draws.maybe(0.3, () => ({ beside: true as const })) }
  }
  return append(draws, row, move)
}

function another(draws: RandomDraws, run: WholeRun): WholeRun {
  const runId = draws.id()
  const isUnnamed = run.head.workflowId === run.head.runId
  return {
    ...run,
    head: {
      ...run.head,
      runId,
      ...(isUnnamed && { workflowId: runId }),
      createdAt: run.head.createdAt - draws.below(2),
    },
    tasks: run.tasks.map((task) => ({ ...task, taskId: draws.id() })).sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
    ...draws.maybe(0.3, () => ({ attributes: { region: 'eu', tags: ['a'] } })),
  }
}

function append(draws: RandomDraws, { head, generation, reached }: RunRow, move: number): TransferOperation {
  const { count, turnId, body } = draws.firstTurn()
  const turn = { seq: reached, count, turnId, epoch: 1, body }
  return { type: 'append', move, runId: head.runId, generation, turns: draws.chance(0.8) ? [turn] : [] }
}
