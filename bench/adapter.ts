// What an engine must offer to be measured. One adapter is one row of the table: an engine together
// with the settings it was given.
import type { Servers } from './servers.ts'
import type { Workload } from './workloads.ts'

/** Where a fresh store of the engine is. Sent to the worker process, so plain data only. */
export interface Place {
  /** A database, a file or a server, in whatever form the adapter itself understands. */
  url: string
  /** Set by engines that bring their own server: its memory is reported beside the worker's. */
  serverProcessId?: number
}

/** Called by the adapter's handlers, in the worker process. Runs and bodies are counted from 0. */
export interface Hooks {
  /** First thing in a workflow function or job handler. */
  started(run: number): void
  /** In the body of a step (or in the handler of a job): this is what is counted. */
  ran(run: number, body: number): void
}

export interface ChainInput {
  run: number
  steps: number
}

export interface FanoutInput {
  run: number
  width: number
}

/** Starts one workflow and waits for its answer: the number of steps it ran. */
export interface Executor {
  chain(input: ChainInput): Promise<number>
  fanout(input: FanoutInput): Promise<number>
}

export interface Client {
  /** Absent where an engine has no workflows or runs them in the worker's process (`embedded`). */
  executor?: Executor
  startOne(run: number): Promise<unknown>
  /** Starts `runs` workflows of `steps` steps (job queues: jobs) as fast as the engine allows. */
  startMany(runs: number, steps: number): Promise<void>
  /** How many runs are not durably complete, asked of the store itself. */
  unfinished(): Promise<number>
  close(): Promise<void>
}

export interface RunningWorker {
  /** For `embedded` adapters: client and worker in one process. */
  executor?: Executor
  close(): Promise<unknown>
}

export interface Adapter {
  id: string
  /** Whose versions to print; packages of `peers/`, or pawl itself. */
  packages: readonly string[]
  /** The settings in words, printed under the table. */
  settings: string
  workloads: readonly Workload[]
  /** W1, W2 and W4 run inside the worker process, as the engine is normally used. */
  embedded?: true
  /** Work runs as it arrives, so the worker has to be there before anything is started. */
  push?: true
  /** The store made by `setup` serves a whole round; otherwise W3 and W5 each get a fresh one. */
  keepsStore?: true
  /** Why this adapter cannot run here, or undefined. */
  unavailable?(servers: Servers): Promise<string | undefined>
  /** Makes a fresh store, with its schema, that holds no work. */
  setup(servers: Servers): Promise<Place>
  teardown?(place: Place): Promise<void>
  /** Loads the engine's code in the worker process before any clock runs. */
  preload?(): Promise<unknown>
  work(place: Place, hooks: Hooks): Promise<RunningWorker>
  /** Called in the measuring process once a worker is up. */
  announceWorker?(place: Place): Promise<void>
  connect(place: Place): Promise<Client>
}

export const silentHooks: Hooks = { started() {}, ran() {} }
