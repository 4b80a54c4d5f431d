// A process with the user's code: it loads the files, works, and answers queries. Its parent starts another one when the
// code changes, so that nothing of the old code stays behind: no module, no timer, no pool.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { Worker as Thread } from 'node:worker_threads'
import { defined } from '../../core/base/defined.ts'
import { digest } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { type Engine, query, type Worker } from '../../index.ts'
import { Metrics } from '../../metrics/metrics.ts'
import { refOf } from '../../operations/handlers/context.ts'
import { processFile } from '../invocation.ts'
import { type Definitions, loadDefinitions } from '../load-definitions.ts'
import { loggerOf } from '../log-option.ts'
import { openStore } from '../options.ts'
import { digestOf, watchLoading } from './loaded-files.ts'
import type { CodeSetup, FromCode, LoadedFile, Question, ToCode } from './messages.ts'

class CodeChild {
  readonly #files: LoadedFile[] = []
  readonly #running = new Map<string, string>()
  #setup: CodeSetup | undefined
  #definitions: Definitions | undefined
  #engine: Promise<Engine> | undefined
  #worker: Worker | undefined
  #metrics: Metrics | undefined
  #isLoaded = false

  receive(message: ToCode): void {
    switch (message.type) {
      case 'load':
        void this.#load(message.setup)
        break
      case 'work':
        this.#work().catch((error: unknown) => this.#fail(error))
        break
      case 'drain':
        void this.#drain(message.graceMs)
        break
      case 'metrics':
        void this.#tellMetrics(message.id)
        break
      case 'query':
        void this.#query(message.id, message.question)
    }
  }

  async #load(setup: CodeSetup): Promise<void> {
    this.#setup = setup
    watchLoading((file) => {
      this.#files.push(file)
      if (this.#isLoaded) send({ type: 'also', file })
    })
    try {
      const definitions = await loadDefinitions(setup.files)
      if (setup.isDev) for (const each of definitions.workflows) unpin(each)
      this.#definitions = definitions
      this.#isLoaded = true
      const { workflows, activities, codecs } = definitions
      const found = { workflows: names(workflows), activities: names(activities), hasCodecs: codecs !== undefined }
      send({ type: 'loaded', files: this.#files, ...found })
    } catch (error) {
      // Files that no import reached, or that do not exist yet: saving them tries again, too.
      const reached = new Set(this.#files.map(([path]) => path))
      const others = setup.files.map((file) => resolve(file)).filter((path) => !reached.has(path))
      this.#files.push(...others.map((path) => [path, digestOf(path)] as const))
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    send({ type: 'failed', message: withPlace(error, this.#files), files: this.#files })
  }

  async #work(): Promise<void> {
    const { store, codecs, log, isDev, worker: options } = this.#setup as CodeSetup
    const contents = digest(this.#files.map(String).toSorted().join('\n'))
    const build = isDev ? `dev-${contents}` : undefined
    this.#engine = openStore(defined({ store, codecs }), {
      ...this.#definitions,
      logger: loggerOf(log),
      ...defined({ build }),
    })
    const engine = await this.#engine
    // The parent asks the store.
    this.#metrics = new Metrics(engine, false)
    this.#report(engine)
    this.#worker = engine.work({ ...options, signals: false })
    await this.#worker.ready
    send({ type: 'ready' })
  }

  #report(engine: Engine): void {
    engine.on('run.paused', ({ runId, workflow, failure }) => send({ type: 'paused', runId, workflow, failure }))
    const name = ({ runId, step }: { readonly runId: string; readonly step: string }): string => `${runId} ${step}`
    engine.on('activity.started', (each) => this.#running.set(name(each), each.activity))
    engine.on('activity.completed', (each) => this.#running.delete(name(each)))
    engine.on('activity.failed', (each) => this.#running.delete(name(each)))
  }

  // The second time, the grace is shorter.
  async #drain(graceMs: number): Promise<void> {
    const engine = await this.#engine?.catch(() => undefined)
    await this.#worker?.drain(graceMs)
    await this.#tellMetrics()
    if (this.#running.size > 0) send({ type: 'cutOff', steps: [...this.#running.values()] })
    await engine?.close()
    // What the code left open, such as a pool, must not keep the process alive.
    process.exit(0)
  }

  async #tellMetrics(id?: number): Promise<void> {
    const snapshot = (await this.#metrics?.snapshot().catch(() => undefined)) ?? {}
    send({ type: 'metrics', snapshot, ...(id !== undefined && { id }) })
  }

  async #query(id: number, { run, name, payload }: Question): Promise<void> {
    try {
      const engine = await this.#engine
      if (!engine) throw new PawlError('TRY_LATER', 'the code is being loaded. Send the query again.')
      const result = await engine.get(refOf(run)).query(query<unknown, unknown>(name), payload)
      send({ type: 'answer', id, result })
    } catch (error) {
      const code = error instanceof PawlError ? error.code : 'QUERY_FAILED'
      send({ type: 'refused', id, code, message: error instanceof Error ? error.message : String(error) })
    }
  }
}

function send(message: FromCode): void {
  if (process.connected) process.send?.(message)
}

function names(definitions: readonly { readonly name: string }[]): string[] {
  return definitions.map(({ name }) => name)
}

// The next save is another build, and the runs of this one would wait for it for ever.
function unpin(definition: Definitions['workflows'][number]): void {
  Object.assign(definition, { options: { ...definition.options, pin: false } })
}

// Hooks hide where JavaScript cannot be parsed, so Node is asked again.
function withPlace(error: unknown, files: readonly LoadedFile[]): string {
  const message = error instanceof Error ? error.message : String(error)
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  if (!(cause instanceof SyntaxError) || /\(file:\S+:\d+\)/.test(message)) return message
  for (const [path] of files.toReversed()) {
    if (!/\.[mc]?jsx?$/.test(path)) continue
    const { stderr, status } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' })
    const [place = ''] = stderr.split('\n', 1)
    if (status !== 0) return `${message} (${place})`
  }
  return message
}

const PARENT_LOOK_MS = 1_000

const child = new CodeChild()
const workerData = { parent: process.ppid, everyMs: PARENT_LOOK_MS }
new Thread(processFile('code/parent-watch'), { workerData, execArgv: [] }).unref()
process.on('message', (message) => child.receive(message as ToCode))
// The parent decides when this process ends, and it ends with the parent. A terminal sends Ctrl-C to both.
process.on('disconnect', () => process.exit(0))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
