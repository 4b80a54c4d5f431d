// Batches: the operations of a handle, for every run that matches a filter. Who makes one has checked the arguments.

import { defined } from '../../core/base/defined.ts'
import { limits } from '../../core/base/limits.ts'
import { checkPayload, ENDED, LIVE, OWN_WORKFLOWS } from '../../core/browser.ts'
import type { Args, Migration, Page, RunFilter, RunHandle, Signal, Status } from '../../core/index.ts'
import type { BatchOptions } from './batch-options.ts'

export type { BatchOptions } from './batch-options.ts'

/** The states of runs that can be retried. */
export const RETRIED = ENDED.filter((status) => status !== 'completed')

/** The outcome of a batch. */
export interface BatchOutcome {
  /** How many runs matched, up to the limit. */
  readonly matched: number
  readonly done: number
  /** The runs whose operation failed. `code` is that of the `PawlError`; other errors have their code or name. */
  readonly failures: readonly { readonly runId: string; readonly code: string }[]
}

/** What a batch needs from its client. @internal */
export interface BatchHost {
  list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<Page<{ readonly runId: string; readonly name: string }>>
  count(filter: RunFilter): Promise<number>
  get(runId: string): RunHandle<unknown>
}

/** All runs that match a filter, to operate on together. `engine.batch(filter, options)` makes one. */
export class Batch {
  readonly #host: BatchHost
  readonly #filter: RunFilter
  readonly #options: BatchOptions
  /** Throws if the call would be refused for every run. */
  readonly #checkMigration: (to: Migration) => void

  /** @internal */
  constructor(host: BatchHost, filter: RunFilter, options: BatchOptions, checkMigration = (_: Migration): void => {}) {
    this.#host = host
    this.#filter = filter
    this.#options = options
    this.#checkMigration = checkMigration
  }

  /** How many runs that have not ended match, without the limit. */
  async count(): Promise<number> {
    const filter = this.#among(LIVE)
    const all = await this.#host.count(filter)
    if (filter.workflow !== undefined) return all
    const own = await Promise.all(OWN_WORKFLOWS.map((workflow) => this.#host.count({ ...filter, workflow })))
    return own.reduce((rest, count) => rest - count, all)
  }

  /** Cancels every matching run that has not ended. */
  cancel(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.cancel(this.#options.reason))
  }

  /** Terminates every matching run that has not ended. */
  terminate(): Promise<BatchOutcome> {
    const { reason = 'terminated in a batch' } = this.#options
    return this.#each(LIVE, (run) => run.terminate(reason))
  }

  /** Pauses every matching run that has not ended. */
  pause(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.pause(this.#options.reason))
  }

  /** Resumes every matching run that is paused, unless the filter has a status. */
  resume(): Promise<BatchOutcome> {
    return this.#each(['paused'], (run) => run.resume())
  }

  /** Retries every matching run that failed or was cancelled, unless the filter has a status. */
  retry(): Promise<BatchOutcome> {
    return this.#each(RETRIED, (run) => run.retry())
  }

  /** Migrates every matching run that is paused, unless the filter has a status. */
  async migrate(to: Migration): Promise<BatchOutcome> {
    this.#checkMigration(to)
    return this.#each(['paused'], (run) => run.migrate(to))
  }

  /** Sends a signal to every matching run that has not ended. */
  async signal<Payload>(signal: Signal<Payload>, ...args: Args<NoInfer<Payload>, never>): Promise<BatchOutcome> {
    // Checked once, so that a wrong payload throws instead of failing for every run.
    await checkPayload(signal, args[0])
    return this.#each(LIVE, (run) => run.signal(signal, ...args))
  }

  // Lists the runs before the first operation, because an operation may change whether a run matches.
  async #each(among: readonly Status[], work: (run: RunHandle<unknown>) => Promise<void>): Promise<BatchOutcome> {
    const runIds = (await this.#find(this.#among(among))).map(({ runId }) => runId)
    const failures = await onEach(runIds, (runId) => work(this.#host.get(runId)))
    return { matched: runIds.length, done: runIds.length - failures.length, failures }
  }

  /** The runs that an operation for runs in these states would be done to. @internal */
  preview<Run extends { readonly runId: string; readonly name: string }>(
    among: readonly Status[],
  ): Promise<readonly Run[]> {
    return this.#find(this.#among(among)) as Promise<never>
  }

  // An operation only considers runs in states it applies to, unless the filter names a status.
  #among(statuses: readonly Status[]): RunFilter {
    return { ...this.#filter, status: this.#filter.status ?? statuses }
  }

  // Schedules and batches are runs, too, but a filter includes them only if it names their workflow.
  #isMeant({ name }: { readonly name: string }): boolean {
    return this.#filter.workflow !== undefined || !(OWN_WORKFLOWS as readonly string[]).includes(name)
  }

  async #find(filter: RunFilter): Promise<{ readonly runId: string; readonly name: string }[]> {
    const { limit } = this.#options
    const found: { readonly runId: string; readonly name: string }[] = []
    for (let cursor: string | undefined; found.length < limit; ) {
      const most = Math.min(limits.listPageMax, limit - found.length)
      const page = await this.#host.list(filter, defined({ limit: most, cursor }))
      found.push(...page.items.filter((run) => this.#isMeant(run)))
      cursor = page.cursor
      if (cursor === undefined) break
    }
    return found
  }
}

/** Does something to several runs at once, and returns those it failed for. */
export async function onEach(
  runIds: readonly string[],
  work: (runId: string, index: number) => Promise<void>,
): Promise<BatchOutcome['failures']> {
  const failures: { runId: string; code: string }[] = []
  const left = runIds.entries()
  const lane = async (): Promise<void> => {
    for (const [index, runId] of left) {
      try {
        await work(runId, index)
      } catch (error) {
        failures.push({ runId, code: codeOf(error) })
      }
    }
  }
  await Promise.all(Array.from({ length: limits.batchLanes }, lane))
  return failures
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return String(code ?? name ?? error)
}
