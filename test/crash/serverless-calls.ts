// Completes runs by processes that each serve a single call, some of which are killed, then judges what is left.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, open, type Worked } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { checkAll, checkNaps, type Evidence } from './check.ts'
import { checkAttempts, checkOverlaps } from './check-bodies.ts'
import { CrashClient } from './client.ts'
import { readRuns } from './evidence.ts'
import { readLedgers } from './ledger.ts'

export interface ServerlessOptions {
  readonly store: string
  readonly runs: number
  readonly seed: number
  /** How long a call may take. */
  readonly forMs: number
  /** Calls at once. */
  readonly together?: number
  readonly stepMsMax?: number
  readonly progress?: (text: string) => void
}

export interface ServerlessReport {
  readonly seed: number
  readonly acknowledged: number
  readonly signals: number
  readonly calls: number
  readonly killed: number
  readonly ended: Readonly<Record<Worked['ended'], number>>
  readonly steps: number
  readonly seconds: number
  readonly violations: readonly string[]
  readonly failures: readonly string[]
}

const unended = ['pending', 'running', 'waiting', 'compensating', 'paused'] as const
/** A third of the calls is killed. */
const KILL_EVERY = 3

export async function completeByCalls(given: ServerlessOptions): Promise<ServerlessReport> {
  const options = { together: 2, stepMsMax: 60, progress: () => {}, ...given }
  const folder = await mkdtemp(join(tmpdir(), 'pawl-serverless-'))
  const engine = await open(options.store)
  const random = new SeededRandom(options.seed)
  const client = new CrashClient(engine, random.fork('client'))
  const calls = new Calls(engine, { ...options, folder }, random.fork('calls'))
  const begun = performance.now()
  try {
    const isStarted = (): boolean => client.started.size >= options.runs
    const starts = client.work(() => options.runs, isStarted)
    const isDone = async (): Promise<boolean> => isStarted() && (await engine.count({ status: unended })) === 0
    await Promise.all(Array.from({ length: options.together }, () => calls.until(isDone)))
    await starts
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    await calls.untilNothingIsHeld()
    const { started, signals, violations, failures } = client
    const ledger = readLedgers(folder)
    const runs = await readRuns(options.store, started.keys())
    const evidence: Evidence = { started, signals, runs, ledger, resumed: [] }
    const bodies = { ledger, killed: calls.killed, resumed: [] }
    return {
      ...{ seed: options.seed, acknowledged: started.size, seconds, failures },
      signals: [...signals.values()].reduce((sum, ids) => sum + ids.length, 0),
      ...{ calls: calls.count, killed: calls.killed.length, ended: calls.ended },
      steps: ledger.filter(({ type }) => type === 'begun').length,
      violations: [
        ...violations,
        ...calls.violations,
        ...checkAll(evidence),
        ...checkOverlaps(bodies),
        ...checkAttempts(bodies),
        ...checkNaps(evidence, []),
      ],
    }
  } finally {
    await calls.end()
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Settings = Required<ServerlessOptions> & { readonly folder: string }

class Calls {
  readonly killed: { readonly pid: number; readonly order: number }[] = []
  readonly violations: string[] = []
  readonly ended = { idle: 0, time: 0, stopped: 0 }
  count = 0
  readonly #engine: Engine
  readonly #options: Settings
  readonly #random: SeededRandom
  readonly #children = new Set<ChildProcess>()
  /** Calls that will be killed, unless they end before. */
  #striking = 0

  constructor(engine: Engine, options: Settings, random: SeededRandom) {
    this.#engine = engine
    this.#options = options
    this.#random = random
  }

  /** Makes one call after another. */
  async until(isDone: () => Promise<boolean>): Promise<void> {
    while (!(await isDone())) {
      await this.#call(this.count >= KILL_EVERY * (this.killed.length + this.#striking))
      if (this.count % 50 === 0) this.#options.progress(`${this.count} calls, ${this.killed.length} killed`)
    }
  }

  /** Calls on until the sessions of killed calls are freed, too. */
  async untilNothingIsHeld(): Promise<void> {
    for (let tries = 0; tries < 10 && (await this.#engine.workers()).length > 0; tries++) await this.#call(false)
    for (const { worker } of await this.#engine.workers()) this.violations.push(`${worker} still has a session`)
  }

  async #call(isStruck: boolean): Promise<void> {
    this.count++
    if (isStruck) this.#striking++
    const { store, folder, forMs, stepMsMax } = this.#options
    const args = [join(import.meta.dirname, 'serverless-call.ts'), store, folder, String(forMs), String(stepMsMax)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#children.add(child)
    let [worked, complaints]: [Worked | undefined, string] = [undefined, '']
    child.stderr?.on('data', (chunk: Buffer) => (complaints = `${complaints}${chunk.toString()}`.slice(-2_000)))
    const works = Promise.withResolvers<void>()
    child.on('message', (message: { readonly worked?: Worked; readonly status?: string }) => {
      if (message.status === 'active') works.resolve()
      if (message.worked) worked = message.worked
    })
    const exited = once(child, 'exit').then(() => works.resolve())
    await works.promise
    if (isStruck) {
      await sleep(this.#random.below(this.#options.forMs / 2))
      child.kill('SIGKILL')
    }
    await exited
    if (isStruck) this.#striking--
    this.#children.delete(child)
    if (child.signalCode === 'SIGKILL' && !worked) {
      this.killed.push({ pid: child.pid ?? 0, order: Number(process.hrtime.bigint() / 1_000n) })
    } else if (worked) this.#check(worked, await this.#engine.workers())
    else this.violations.push(`a call ended with ${child.exitCode}: ${complaints}`)
  }

  /** A call that ended by itself has left nothing behind. */
  #check({ worker, ended }: Worked, workers: readonly { readonly worker: string }[]): void {
    this.ended[ended]++
    if (workers.some((each) => each.worker === worker)) this.violations.push(`${worker} left its session open`)
  }

  async end(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
  }
}
