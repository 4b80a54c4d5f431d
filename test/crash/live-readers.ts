// Clients of live events that connect again and again, now to one server and now to the other.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { EventStream, type SentEvent } from '../support/sse.ts'

export interface Tried {
  connections: number
  refused: number
  /** Connections that continued in the middle of a run. */
  resumed: number
  /** Connections that the client closed, to go to the other server. */
  left: number
  /** Answers that a client of a run in progress must not get. */
  readonly wrong: string[]
}

/** Servers that may be dead at any moment. */
export class Servers {
  readonly tried: Tried = { connections: 0, refused: 0, resumed: 0, left: 0, wrong: [] }
  readonly #urls: readonly string[]
  readonly #random: SeededRandom
  #next = 0

  constructor(urls: readonly string[], random: SeededRandom) {
    this.#urls = urls
    this.#random = random
  }

  /** Reads from one of the servers until the connection ends. Returns the status, or undefined if there was none. */
  async read(
    path: string,
    after: string | undefined,
    onEvent: (event: SentEvent) => void,
  ): Promise<number | undefined> {
    const { tried } = this
    const url = `${this.#urls[this.#next++ % this.#urls.length]}${path}`
    try {
      const stream = await EventStream.connect(url, { after, onEvent })
      tried.connections++
      if (after !== undefined) tried.resumed++
      const { status } = stream
      if (status !== 200 && status !== 204 && status !== 503) tried.wrong.push(`${status} for ${path} after ${after}`)
      // Some go before the server does.
      const leaves = this.#random.chance(0.3)
      const left = leaves && sleep(this.#random.below(1_500)).then(() => stream.close())
      const isWhole = await stream.ended
      await left
      if (left && !isWhole) tried.left++
      return status
    } catch {
      tried.refused++
      await sleep(20 + this.#random.below(50))
      return undefined
    }
  }
}

/** What a client of one run got, in order. */
export class RunReader {
  readonly runId: string
  readonly events: string[] = []
  ends = 0
  isDone = false
  #after: string | undefined

  constructor(runId: string) {
    this.runId = runId
  }

  /** Reads until a server says that there is nothing more. */
  async follow(servers: Servers, over: () => boolean): Promise<void> {
    const path = `/api/v1/runs/${this.runId}/events?payloads=true`
    while (!this.isDone && !over()) {
      const status = await servers.read(path, this.#after, (event) => this.#take(event))
      this.isDone = status === 204
    }
  }

  #take({ event, id, data }: SentEvent): void {
    if (id !== undefined) this.#after = id
    if (event === 'end') this.ends++
    if (event === 'history') this.events.push(`${id} ${JSON.stringify(data)}`)
    if (event === 'gap') this.events.push(`gap ${JSON.stringify(data)}`)
  }
}

/** What a client of a window has: the newest state of each run. */
export class WindowReader {
  readonly rows = new Map<string, string>()
  isCaughtUp = false

  async follow(servers: Servers, path: string, over: () => boolean): Promise<void> {
    while (!over()) await servers.read(path, undefined, (event) => this.#take(event))
  }

  #take({ event, data }: SentEvent): void {
    const { runId = '', status, generation } = data as Readonly<Record<string, string>>
    this.isCaughtUp = event === 'caughtUp'
    if (event === 'reset') this.rows.clear()
    if (event === 'run') this.rows.set(runId, `${status} ${generation}`)
    if (event === 'left') this.rows.delete(runId)
  }
}
