// Real processes for the load tests, and what the kernel says they use.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** USER_HZ, which is 100 on every Linux that runs Node. */
const ticksPerSecond = 100

export class LoadProcess {
  readonly child: ChildProcess
  readonly #exited: Promise<unknown>
  #complaints = ''

  private constructor(child: ChildProcess) {
    this.child = child
    this.#exited = once(child, 'exit')
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#complaints = `${this.#complaints}${chunk.toString()}`.slice(-4_000)
    })
  }

  /** Starts a file of this folder, or of a path of its own, and resolves when it says that it is ready. */
  static async start(file: string, args: readonly string[]): Promise<LoadProcess> {
    const path = resolve(import.meta.dirname, file)
    const child = spawn(process.execPath, [path, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // What it takes to load the source is part of what is measured here.
      env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    })
    const started = new LoadProcess(child)
    await Promise.race([once(child, 'message'), started.#exited])
    started.check()
    return started
  }

  check(): void {
    if (this.child.exitCode === null) return
    throw new Error(`the process ended with ${this.child.exitCode}: ${this.#complaints}`)
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#exited
  }

  /** Asks the process a question and waits for its answer. */
  async ask(question: string): Promise<unknown> {
    const answer = once(this.child, 'message')
    this.child.send(question)
    const [value] = await answer
    return value
  }

  /** Resident memory in megabytes. */
  memory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8')
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
    return (kilobytes * 1_024) / 1_000_000
  }

  /** Seconds of processor time so far. */
  cpu(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses, which may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  }

  /** Memory once it has stopped changing. */
  async idleMemory(): Promise<number> {
    let before = this.memory()
    for (let calm = 0, looks = 0; calm < 3 && looks < 20; looks++) {
      await sleep(1_000)
      const now = this.memory()
      calm = Math.abs(now - before) < 1 ? calm + 1 : 0
      before = now
    }
    this.check()
    return before
  }
}
