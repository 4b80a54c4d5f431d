// Numbers of the lanes that runs wait in, read once and kept as long as the server is the same.
import type { NewRun } from '../../core/stores/driver.ts'
import { nameOf } from './functions/index.ts'

type Query = <Row>(text: string, values: readonly unknown[], name?: string) => Promise<Row[]>

export interface Lane {
  readonly lane: number
  readonly queue: string
  readonly name: string
  readonly priority: number
}

export class Lanes {
  readonly #query: Query
  readonly #schema: string
  #known = new Map<string, Lane>()

  constructor(query: Query, schema: string) {
    this.#query = query
    this.#schema = schema
  }

  async of({ queue, name, priority }: NewRun): Promise<Lane> {
    const key = JSON.stringify([queue, name, priority])
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const text = `select ${nameOf(this.#schema, 'lane_of')}('run', $1, $2, $3) as lane`
    const [row] = await this.#query<{ lane: number }>(text, [queue, name, priority], 'lane_of')
    const lane = { lane: row?.lane ?? 0, queue, name, priority }
    this.#known.set(key, lane)
    return lane
  }

  /** A server that has taken over may lack some lanes, or have them under other numbers. */
  forget(): void {
    this.#known = new Map()
  }
}
