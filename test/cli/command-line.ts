// Runs the command line as a person does: as a process, in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { open } from 'pawl'
import { expect } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const main = join(root, 'src', 'cli', 'main.ts')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export class CommandLine implements AsyncDisposable {
  readonly folder: string
  readonly store: string
  readonly main = main
  /** Variables for the programs that are started from now on. */
  environment: Readonly<Record<string, string>> = {}
  readonly #running = new Set<Program>()

  private constructor(folder: string) {
    this.folder = folder
    this.store = `sqlite:${join(folder, 'pawl.db')}`
  }

  static async open(): Promise<CommandLine> {
    return new CommandLine(await mkdtemp(join(tmpdir(), 'pawl-cli-')))
  }

  /** Runs `pawl …` to its end. */
  async pawl(...args: string[]): Promise<Ended> {
    return this.begin(...args).ended
  }

  /** Starts `pawl …` and leaves it running. */
  begin(...args: string[]): Program {
    const program = new Program(args, this.folder, this.environment)
    this.#running.add(program)
    void program.ended.then(() => this.#running.delete(program))
    return program
  }

  /** Resolves when the run has this status, as the store has it. */
  async reaches(workflowId: string, status: string): Promise<void> {
    const engine = await open(this.store)
    try {
      await expect
        .poll(() => engine.get({ workflowId }).describe(), { timeout: 20_000, interval: 20 })
        .toMatchObject({ status })
    } finally {
      await engine.close()
    }
  }

  /** Writes a module of definitions, `pawl` being what it imports from. */
  async define(name: string, code: string): Promise<string> {
    const pawl = pathToFileURL(join(root, 'src', 'index.ts')).href
    await writeFile(join(this.folder, name), `import * as pawl from '${pawl}'\n${code}`)
    return name
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#running) program.kill('SIGKILL')
    await Promise.all([...this.#running].map(({ ended }) => ended))
    await rm(this.folder, { recursive: true, force: true })
  }
}

export class Program {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  #stdout = ''
  #stderr = ''

  constructor(args: readonly string[], cwd: string, environment: Readonly<Record<string, string>>) {
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name !== 'FORCE_COLOR' && !name.startsWith('PAWL_')),
    )
    this.#child = spawn(process.execPath, [main, ...args], {
      cwd,
      // What a program leaves in the folder for such things is removed with ours.
      env: { ...env, TMPDIR: cwd, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString()
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString()
    })
    this.ended = once(this.#child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
  }

  /** Resolves when it has printed this. */
  prints(text: string): Promise<void> {
    return this.#says(text, this.#child.stdout, () => this.#stdout)
  }

  /** Resolves when it has printed this on standard error. */
  complains(text: string): Promise<void> {
    return this.#says(text, this.#child.stderr, () => this.#stderr)
  }

  async #says(text: string, stream: Readable | null, said: () => string): Promise<void> {
    while (!said().includes(text)) {
      const ended = await Promise.race([stream && once(stream, 'data'), this.ended])
      if (ended && 'code' in ended && !said().includes(text)) {
        throw new Error(`it ended without printing '${text}': ${this.#stdout}${this.#stderr}`)
      }
    }
  }

  /** Resolves with the first group when it has printed what fits. */
  async matches(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#stdout)
      if (found) return found[1] ?? found[0]
      const { stdout } = this.#child
      const ended = await Promise.race([stdout && once(stdout, 'data'), this.ended])
      if (ended && 'code' in ended && !pattern.test(this.#stdout)) {
        throw new Error(`it ended without printing ${pattern}: ${this.#stdout}${this.#stderr}`)
      }
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}
