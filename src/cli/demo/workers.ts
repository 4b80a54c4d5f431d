// Starts and kills the worker processes of the demo. No process outlives the demo.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { processFile } from '../invocation.ts'

export interface DemoWorker {
  readonly id: string
  readonly pid: number
  readonly alive: boolean
}

interface Process extends DemoWorker {
  alive: boolean
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  stderr: string
}

export class DemoWorkers {
  readonly #store: string
  readonly #ledger: string
  readonly #all: Process[] = []

  constructor(store: string, ledger: string) {
    this.#store = store
    this.#ledger = ledger
  }

  get all(): readonly DemoWorker[] {
    return this.#all
  }

  /** Starts a worker and resolves when it is ready. */
  async start(id: string): Promise<DemoWorker> {
    const args = [processFile('demo/worker'), this.#store, this.#ledger, id]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    const worker: Process = {
      id,
      pid: child.pid ?? 0,
      alive: true,
      child,
      exited: once(child, 'exit'),
      stderr: '',
    }
    this.#all.push(worker)
    child.stderr?.on('data', (chunk: Buffer) => {
      worker.stderr += chunk.toString()
    })
    void worker.exited.then(() => {
      worker.alive = false
    })
    await Promise.race([once(child, 'message'), worker.exited])
    this.check()
    return worker
  }

  async kill(id: string): Promise<void> {
    const worker = this.#all.find((each) => each.id === id)
    if (!worker) return
    worker.alive = false
    worker.child.kill('SIGKILL')
    await worker.exited
  }

  /** Throws if a worker ended that was not killed. */
  check(): void {
    for (const { id, child, stderr } of this.#all) {
      if (child.exitCode === null) continue
      throw new Error(`${id} ended by itself with code ${child.exitCode}. ${stderr.trim()}`)
    }
  }

  /** Kills all workers without waiting, also on Ctrl-C. */
  killAll(): void {
    for (const { child } of this.#all) child.kill('SIGKILL')
  }
}
