// One small harness for tests that must hold on every store: `describe.each(kinds)('on %s', (kind) => …)`, and in it
// `useStore(kind)`. Every test gets a place of its own; engines opened in one test share it and are closed after it.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Announcement,
  type HistoryEvent,
  type OpenOptions,
  open,
  type RunHandle,
  type Why,
  type Worker,
  type WorkerOptions,
} from 'pawl'
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import type { Credentials } from '../../src/stores/objects/credentials.ts'
import { type S3Simulator, startS3Simulator } from '../../src/testing/s3-simulator.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { freshBucket, type Radosgw, radosgwStartMsMax, sharedRadosgw } from '../support/radosgw.ts'

/** Where a test that must hold everywhere is run. The simulator of S3 proves nothing that radosgw does not. */
export const kinds = ['memory', 'sqlite', 'postgres', 'file', 'radosgw'] as const
export type Kind = (typeof kinds)[number] | 's3'

const nobody: Credentials = { accessKeyId: '', secretAccessKey: '' }

export interface Logged {
  readonly level: string
  readonly message: string
}

export class Bench {
  readonly kind: Kind
  readonly logged: Logged[] = []
  #engines: Engine[] = []
  #memory = new MemoryStore({ clock: systemClock })
  #folder = ''
  #database: FreshDatabase | undefined
  #simulator: S3Simulator | undefined
  #radosgw: Radosgw | undefined
  #bucket = ''
  #place = ''

  constructor(kind: Kind) {
    this.kind = kind
  }

  /** What to multiply times with that something must be seen to happen in. */
  get slowness(): number {
    return this.kind === 'radosgw' ? 10 : 1
  }

  /** Where this test's runs are; on memory there is no such place. */
  get url(): string {
    if (this.kind === 'sqlite') return `sqlite:${join(this.#folder, this.#place)}.db`
    if (this.kind === 'file') return `file:${join(this.#folder, this.#place)}`
    if (this.kind === 's3') return this.#simulator?.url.replace('/?', `/${this.#place}?`) ?? ''
    if (this.kind === 'radosgw') return this.#bucket.replace('?', `${this.#place}?`)
    return `${this.#database?.url}?schema=${this.#place}`
  }

  get credentials(): Credentials {
    return this.#simulator?.credentials ?? this.#radosgw?.credentials ?? nobody
  }

  /** What a process of its own needs beside the URL. */
  get environment(): Readonly<Record<string, string>> {
    const { accessKeyId, secretAccessKey } = this.#radosgw?.credentials ?? nobody
    return accessKeyId === '' ? {} : { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
  }

  async prepare(): Promise<void> {
    if (this.kind === 's3') this.#simulator = await startS3Simulator()
    if (this.kind === 'radosgw') {
      this.#radosgw = await sharedRadosgw(inject('radosgwDoor'))
      this.#bucket = await freshBucket(this.#radosgw)
    }
    if (this.kind === 'sqlite' || this.kind === 'file') this.#folder = await mkdtemp(join(tmpdir(), 'pawl-workflows-'))
    if (this.kind === 'postgres') this.#database = await freshDatabase(inject('postgresUrl'))
  }

  renew(): void {
    this.#place = `at_${randomBytes(6).toString('hex')}`
    this.#memory = new MemoryStore({ clock: systemClock })
    this.logged.length = 0
  }

  /** An engine on this test's store, without a worker. */
  async engine(options: OpenOptions = {}): Promise<Engine> {
    const log = (level: string, message: string): number => this.logged.push({ level, message })
    const credentials = async (): Promise<Credentials> => this.credentials
    const given = { logger: { log }, credentials, ...options }
    const engine = this.kind === 'memory' ? this.#inMemory(given) : await open(this.url, given)
    this.#engines.push(engine)
    return engine
  }

  /** An engine and a worker that is ready. */
  async worker(options: OpenOptions, work: WorkerOptions = {}): Promise<{ engine: Engine; worker: Worker }> {
    const engine = await this.engine(options)
    const worker = engine.work({ signals: false, ...work })
    await worker.ready
    return { engine, worker }
  }

  async serve(options: OpenOptions, work: WorkerOptions = {}): Promise<Engine> {
    return (await this.worker(options, work)).engine
  }

  async closeEngines(): Promise<void> {
    await Promise.all(this.#engines.splice(0).map((engine) => engine.close()))
  }

  async cleanUp(): Promise<void> {
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true })
    await this.#database?.drop()
    await this.#simulator?.stop()
  }

  // Opening 'memory:' twice gives two stores. Here all engines of a test share one, and none may close it.
  #inMemory(options: OpenOptions): Engine {
    const registry = registryOf(options)
    const world = { clock: systemClock, random: systemRandom }
    return new Engine(unclosed(this.#memory), registry, options, world)
  }
}

export function useStore(kind: Kind): Bench {
  const bench = new Bench(kind)
  beforeAll(() => bench.prepare(), radosgwStartMsMax)
  beforeEach(() => bench.renew())
  afterEach(() => bench.closeEngines())
  afterAll(() => bench.cleanUp())
  return bench
}

function unclosed(store: Store): Store {
  return new Proxy(store, {
    get(target, property) {
      if (property === 'close') return async () => {}
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const PATIENCE_MS = 15_000
/** Between two looks, so that who waits does not keep a core from those it waits for. */
const LOOK_MS = 4

/** Reads again and again until what it reads is good. Gives up with what it last saw. */
export async function until<T>(read: () => T | Promise<T>, good: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const value = await read()
    if (good(value)) return value
    if (Date.now() > deadline) throw new Error(`not in time; last seen: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** Resolves once the run waits for the given reason. */
export async function waitsFor<R extends Why['reason']>(
  run: RunHandle<unknown>,
  reason: R,
): Promise<Extract<Why, { reason: R }>> {
  const why = await until(
    () => run.why(),
    (each) => each.reason === reason,
  )
  return why as Extract<Why, { reason: R }>
}

export async function historyOf(run: RunHandle<unknown>): Promise<HistoryEvent[]> {
  const entries: HistoryEvent[] = []
  for await (const entry of run.history()) entries.push(entry)
  return entries
}

/** The next announcement of this type. */
export function heard<T extends Announcement['type']>(
  engine: Engine,
  type: T,
): Promise<Announcement & { readonly type: T }> {
  return new Promise((resolve) => {
    const off = engine.on(type, (announcement) => {
      off()
      resolve(announcement)
    })
  })
}

/** What the promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it was not rejected')
}

/** A door that steps wait at until the test opens it. */
export class Gate {
  readonly opened: Promise<void>
  open: () => void = () => {}
  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }
}
