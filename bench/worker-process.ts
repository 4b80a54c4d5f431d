// The measuring process's end of a worker process.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Adapter, Place } from './adapter.ts'
import type { ExecutionTally } from './executions.ts'
import type { Command, Report, ReportOf } from './protocol.ts'
import { sleep } from './time.ts'

const answerMs = 30_000
const stopMs = 6_000
/** Without it every worker would hold Node's TypeScript compiler, tens of megabytes, in its memory. */
const compileCache = join(import.meta.dirname, 'results', '.compile-cache')

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #listeners = new Set<(report: Report) => void>()

  private constructor() {
    this.#child = fork(join(import.meta.dirname, 'worker-host.ts'), [], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    })
    this.#child.on('message', (report: Report) => this.#tell(report))
    this.#child.on('exit', (code) => this.#tell({ type: 'failed', reason: `exited (${code})` }))
  }

  /** Loads the engine's code but starts no work. */
  static async load(adapter: Adapter, place: Place): Promise<WorkerProcess> {
    const worker = new WorkerProcess()
    await worker.ask({ type: 'load', adapter: adapter.id, place }, 'loaded')
    return worker
  }

  /** Fills the compile cache, so that the first row measured has no more to carry than the others. */
  static async prime(): Promise<void> {
    await new WorkerProcess().stop()
  }

  send(command: Command): void {
    this.#child.send(command)
  }

  async ask<Type extends Report['type']>(
    command: Command,
    answer: Type,
    timeoutMs = answerMs,
  ): Promise<ReportOf<Type>> {
    const answered = this.next(answer, timeoutMs)
    this.send(command)
    return await answered
  }

  /** The next report of a type (and, for starts, of a run); rejects when the worker fails. */
  next<Type extends Report['type']>(
    type: Type,
    timeoutMs = answerMs,
    matches: (report: ReportOf<Type>) => boolean = () => true,
  ): Promise<ReportOf<Type>> {
    const { promise, resolve, reject } = Promise.withResolvers<ReportOf<Type>>()
    const timer = setTimeout(() => reject(new Error(`no '${type}' report`)), timeoutMs)
    const listener = (report: Report): void => {
      if (isOf(report, type)) {
        if (matches(report)) resolve(report)
      } else if (report.type === 'failed') {
        reject(new Error(`worker: ${report.reason}`))
      }
    }
    this.#listeners.add(listener)
    const settled = promise.finally(() => {
      clearTimeout(timer)
      this.#listeners.delete(listener)
    })
    // The caller may fail before it gets to await this; the worker's failure is then not news.
    settled.catch(() => {})
    return settled
  }

  async expect(runs: number, bodies: number, reportStarts = false): Promise<void> {
    await this.ask({ type: 'expect', runs, bodies, reportStarts }, 'expecting')
  }

  async tally(runs: number): Promise<ExecutionTally> {
    return (await this.ask({ type: 'tally', runs }, 'tally')).tally
  }

  async residentMegabytes(): Promise<number> {
    return (await this.ask({ type: 'memory' }, 'memory')).residentMegabytes
  }

  async stop(): Promise<void> {
    if (this.#gone()) return
    const exited = once(this.#child, 'exit')
    if (this.#child.connected) this.send({ type: 'stop' })
    await Promise.race([exited, sleep(stopMs)])
    if (this.#gone()) return
    this.#child.kill('SIGKILL')
    await exited
  }

  #gone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #tell(report: Report): void {
    for (const listener of [...this.#listeners]) listener(report)
  }
}

function isOf<Type extends Report['type']>(report: Report, type: Type): report is ReportOf<Type> {
  return report.type === type
}
