// Records as JSON, read and changed through the store seam. What is changed is read again if somebody else was faster.
import { parseBody } from '../base/envelope.ts'
import { PawlError } from '../base/errors.ts'
import type { RecordOperation, RecordOutcome, StoredRecord } from '../stores/store.ts'

export interface RecordPorts {
  records(operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]>
  writeId(): number
}

/** A value, and the version it has. */
export interface Versioned<T> {
  readonly version: number
  readonly value: T
}

/** How often a change is tried that others are faster with. */
const TRIES_MAX = 100

export class Records {
  readonly #ports: RecordPorts

  constructor(ports: RecordPorts) {
    this.#ports = ports
  }

  async get<T>(space: string, key: string): Promise<Versioned<T> | undefined> {
    const [there] = await this.getAll<T>([[space, key]])
    return there
  }

  /** By space and key, in one question. */
  async getAll<T>(
    keys: readonly (readonly [space: string, key: string])[],
  ): Promise<(Versioned<T> | undefined)[]> {
    const asked = keys.map(([space, key]) => ({ type: 'get', space, key }) as const)
    const outcomes = await this.#ports.records(asked)
    return outcomes.map((outcome) =>
      outcome.type === 'get' && outcome.record ? read<T>(outcome.record) : undefined,
    )
  }

  async list<T>(space: string, after: string | undefined, limit: number): Promise<[string, T][]> {
    const from = after === undefined ? {} : { after }
    const [outcome] = await this.#ports.records([{ type: 'list', space, limit, ...from }])
    const records = outcome?.type === 'list' ? outcome.records : []
    return records.map((record) => [record.key, read<T>(record).value])
  }

  /** Whether it was written: nobody has written since that version. 0 is nothing there. */
  async put(space: string, key: string, version: number, value: unknown): Promise<boolean> {
    const body = JSON.stringify(value)
    const writeId = this.#ports.writeId()
    const [outcome] = await this.#ports.records([
      { type: 'put', space, key, version, body, writeId },
    ])
    return outcome?.type === 'put' && outcome.outcome === 'applied'
  }

  async change<T>(space: string, key: string, change: (value: T | undefined) => T): Promise<T> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const there = await this.get<T>(space, key)
      const next = change(there?.value)
      if (await this.put(space, key, there?.version ?? 0, next)) return next
    }
    throw new PawlError('TRY_LATER', `many write '${space}/${key}' at once. Try again.`)
  }
}

function read<T>({ version, body }: StoredRecord): Versioned<T> {
  return { version, value: parseBody(body) as T }
}
