// Random batches and turns for streams. Most batches continue the newest part of their writer, or begin a later one.
import type { RunRow } from '../../src/core/stores/rules/row.ts'
import type { Tables } from '../../src/core/stores/rules/tables.ts'
import { Transaction } from '../../src/core/stores/rules/transaction.ts'
import type { StreamBatch, StreamTurn } from '../../src/core/stores/store.ts'
import type { RandomDraws } from './random-draws.ts'

const STREAMS = ['t1', 't2']

export class RandomStreams {
  readonly #draws: RandomDraws
  readonly #tables: () => Tables

  constructor(draws: RandomDraws, tables: () => Tables) {
    this.#draws = draws
    this.#tables = tables
  }

  turn(): StreamTurn {
    const stream = this.#draws.pick(STREAMS)
    if (this.#draws.chance(0.2)) return { type: 'close', stream }
    return { type: 'write', stream, chapter: 1 + this.#draws.below(2), keep: this.#draws.below(3), ...this.#items() }
  }

  batch(row: RunRow | undefined): StreamBatch | undefined {
    if (!row) return undefined
    const { runId } = row.head
    const [taskId] = this.#draws.chance(0.3) ? this.#tables().tasksOf(runId) : []
    const task = taskId === undefined ? undefined : this.#tables().tasks.get(taskId)
    const { session, epoch, nonce } = task ?? row
    const stream = this.#draws.pick(STREAMS)
    const of = { writer: this.#draws.pick(['w1', 'w2']), chapter: 1 + this.#draws.below(2) }
    const newest = new Transaction(this.#tables(), 0).newestPart(runId, stream, of)
    const next = newest && this.#draws.chance(0.5)
    return {
      ...{ runId, stream, ...of },
      generation: next ? newest.generation : row.generation,
      attempt: next ? newest.attempt : 1 + this.#draws.below(3),
      partId: next ? newest.partId : this.#draws.number(),
      keep: this.#draws.below(4),
      n: Math.max(0, (next ? newest.batches : 0) + (this.#draws.chance(0.2) ? this.#draws.below(3) - 1 : 0)),
      lease: { session, epoch: this.#draws.chance(0.95) ? epoch : epoch + 1, nonce },
      ...(taskId !== undefined && { taskId }),
      ...this.#items(),
    }
  }

  #items(): Pick<StreamBatch, 'items' | 'bytes' | 'body'> {
    return { items: this.#draws.below(4), bytes: this.#draws.below(100), body: this.#draws.body() }
  }
}
