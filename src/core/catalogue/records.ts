// Records with JSON values, read and changed through the store. A change is repeated with the new value if another
// process was faster.
import { defined } from '../base/defined.ts'
import { parseBody } from '../base/envelope.ts'
import { PawlError } from '../base/errors.ts'
import type { RecordOperation, RecordOutcome, StoredRecord } from '../stores/store.ts'

export interface RecordPorts {
  records(operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]>
  writeId(): number
}

/** A value and its version. */
export interface Versioned<T> {
  readonly version: number
  readonly value: T
}

/** Tries of a change before it fails because other processes are always faster. */
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

  /** The records of several keys, in one call. */
  async getAll<T>(keys: readonly (readonly [space: string, key: string])[]): Promise<(Versioned<T> | undefined)[]> {
    const asked = keys.map(([space, key]) => ({ type: 'get', space, key }) as const)
    const outcomes = await this.#ports.records(asked)
    return outcomes.map((outcome) => (outcome.type === 'get' && outcome.record ? read<T>(outcome.record) : undefined))
  }

  async list<T>(space: string, after: string | undefined, limit: number): Promise<[string, T][]> {
    const [outcome] = await this.#ports.records([defined({ type: 'list', space, limit, after })])
    const records = outcome?.type === 'list' ? outcome.records : []
    return records.map((record) => [record.key, read<T>(record).value])
  }

  /** Writes the value if the record still has that version; 0 if there must be none. True if it was written. */
  async put(space: string, key: string, version: number, value: unknown): Promise<boolean> {
    const body = JSON.stringify(value)
    const writeId = this.#ports.writeId()
    const [outcome] = await this.#ports.records([{ type: 'put', space, key, version, body, writeId }])
    return outcome?.type === 'put' && outcome.outcome === 'applied'
  }

  async change<T>(space: string, key: string, change: (value: T | undefined) => T): Promise<T> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const there = await this.get<T>(space, key)
      const next = change(there?.value)
      if (await this.put(space, key, there?.version ?? 0, next)) return next
    }
    const message = `record '${space}/${key}' was changed by other processes ${TRIES_MAX} times. Try again later.`
    throw new PawlError('TRY_LATER', message)
  }
}

function read<T>({ version, body }: StoredRecord): Versioned<T> {
  return { version, value: parseBody(body) as T }
}
