// Numbers of the lanes that runs wait in, asked for once.
import type { NewRun } from '../store.ts'
import { nameOf } from './functions/index.ts'

type Query = <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>

export class Lanes {
  readonly #query: Query
  readonly #schema: string
  readonly #known = new Map<string, number>()

  constructor(query: Query, schema: string) {
    this.#query = query
    this.#schema = schema
  }

  async of({ queue, name, priority }: NewRun): Promise<number> {
    const key = JSON.stringify([queue, name, priority])
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const text = `select ${nameOf(this.#schema, 'lane_of')}('run', $1, $2, $3) as lane`
    const [row] = await this.#query<{ lane: number }>(text, [queue, name, priority])
    this.#known.set(key, row?.lane ?? 0)
    return row?.lane ?? 0
  }
}
