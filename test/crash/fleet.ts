// The worker processes of a crash test: real ones, killed and stopped for real. None outlives the test.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { asRelease } from '../upgrades/releases.ts'

export interface WorkerProcess {
  readonly pid: number
  readonly queues: string
  /** The folder of the release that it runs; this source when absent. */
  readonly release: string | undefined
  readonly child: ChildProcess
  state: 'starting' | 'ready' | 'stopped' | 'dead'
  /** What it said on standard error, the newest part. */
  complaints: string
}

export interface FleetOptions {
  readonly store: string
  readonly folder: string
  readonly leaseMs: number
  readonly stepMsMax: number
  /** What a process runs, beside this file. Default `worker.ts`. */
  readonly script?: string
  /** The folder of the release that the nth process runs, if that is not this source. */
  readonly releaseOf?: (n: number) => string | undefined
}

const complaintsMax = 4_000

export class Fleet {
  readonly all: WorkerProcess[] = []
  /** Processes that were stopped and went on, and when, in microseconds of the monotonic clock. */
  readonly resumed: { readonly pid: number; readonly order: number }[] = []
  /** Processes that were killed, and when. */
  readonly killed: { readonly pid: number; readonly order: number }[] = []
  /** When anything was done to a process. */
  readonly struck: number[] = []
  readonly #options: FleetOptions

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get ready(): WorkerProcess[] {
    return this.all.filter((worker) => worker.state === 'ready')
  }

  start(queues: string): WorkerProcess {
    const { store, folder, leaseMs, stepMsMax, script = 'worker.ts', releaseOf } = this.#options
    const release = releaseOf?.(this.all.length)
    const program = [...asRelease(release), join(import.meta.dirname, script)]
    const args = [...program, store, folder, String(leaseMs), queues, String(stepMsMax)]
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const worker: WorkerProcess = {
      pid: child.pid ?? 0,
      queues,
      release,
      child,
      state: 'starting',
      complaints: '',
    }
    this.all.push(worker)
    child.stderr?.on('data', (chunk: Buffer) => {
      worker.complaints = `${worker.complaints}${chunk.toString()}`.slice(-complaintsMax)
    })
    child.once('message', () => {
      if (worker.state === 'starting') worker.state = 'ready'
    })
    child.once('exit', () => {
      worker.state = 'dead'
    })
    return worker
  }

  /** Kills it, and starts another in its place. */
  async kill(worker: WorkerProcess): Promise<void> {
    const exited = once(worker.child, 'exit')
    worker.state = 'dead'
    worker.child.kill('SIGKILL')
    await exited
    const order = microseconds()
    this.killed.push({ pid: worker.pid, order })
    this.struck.push(order)
    this.start(worker.queues)
  }

  /** Stops it in its tracks for a while; it does not notice until it goes on. */
  async freeze(worker: WorkerProcess, ms: number): Promise<void> {
    worker.state = 'stopped'
    this.struck.push(microseconds())
    worker.child.kill('SIGSTOP')
    await sleep(ms)
    this.resumed.push({ pid: worker.pid, order: microseconds() })
    worker.child.kill('SIGCONT')
    if (worker.state === 'stopped') worker.state = 'ready'
  }

  /** Throws if a worker ended that nobody killed. */
  check(): void {
    for (const { pid, child, complaints } of this.all) {
      if (child.exitCode === null) continue
      throw new Error(`worker ${pid} ended by itself with ${child.exitCode}: ${complaints}`)
    }
  }

  /** Everything the workers complained about, each kind once. */
  get complaints(): string[] {
    const lines = this.all.flatMap(({ complaints }) => complaints.split('\n'))
    const kinds = lines.map((line) => line.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, '…').trim())
    return [...new Set(kinds.filter((line) => line !== ''))]
  }

  async end(): Promise<void> {
    await Promise.all(
      this.all
        .filter(({ child }) => child.exitCode === null && child.signalCode === null)
        .map(({ child }) => {
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          return exited
        }),
    )
  }
}

/** Of the monotonic clock, which all processes of a machine share. */
function microseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
