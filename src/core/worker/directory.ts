// What a worker knows of the definitions and builds in the store, looked up now and then: which workflows it can run
// besides those it has code for, and the runs of which builds it takes.
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { isFor, type Pins, pinsOf, type RollOut, unpinned } from '../policies/roll-out.ts'
import { isUnavailable } from '../runtime/availability.ts'
import type { EngineParts } from './context.ts'
import { takesShare, type WorkerSettings } from './worker-settings.ts'

type Engine = Pick<EngineParts, 'registry' | 'catalogue' | 'clock' | 'logger'>

export class Directory {
  readonly #engine: Engine
  readonly #settings: Pick<WorkerSettings, 'pin' | 'build' | 'code' | 'pollMs'>
  readonly #takesShare: boolean
  #names: ReadonlySet<string> = new Set()
  #changes = -1
  #pins: Pins | undefined
  #lookedAt = Number.NEGATIVE_INFINITY
  #mayHaveChanged = false
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, settings: Pick<WorkerSettings, 'pin' | 'build' | 'code' | 'pollMs'>) {
    this.#engine = engine
    this.#settings = settings
    this.#takesShare = takesShare(settings, engine.registry)
    // A worker that takes only its share starts nothing before it knows that share.
    if (this.#takesShare) this.#pins = { builds: [settings.code], from: 0, to: 0 }
  }

  /** Names of workflows to claim; `null` means any. */
  get workflows(): readonly string[] | null {
    const { workflowNames } = this.#engine.registry
    if (workflowNames === null || this.#names.size === 0) return workflowNames
    return [...new Set([...workflowNames, ...this.#names])]
  }

  get pins(): Pins | undefined {
    return this.#pins
  }

  /** Whether this worker would start a new run. */
  starts({ name, runId }: { readonly name: string; readonly runId: string }): boolean {
    if (this.#pins && !isFor(this.#pins, runId)) return false
    return this.#engine.registry.workflow(name) !== undefined || this.#names.has(name)
  }

  /** Something was written to the store: look again soon. */
  expectChange(): void {
    this.#mayHaveChanged = true
  }

  /** How long until the next look is due. */
  get dueInMs(): number {
    const { pollMs } = this.#settings
    // A worker that never polls looks as soon as something was written.
    if (!Number.isFinite(pollMs)) return this.#mayHaveChanged ? 0 : pollMs
    const everyMs = this.#mayHaveChanged ? limits.catalogueHeardMs : limits.catalogueRefreshMs
    return Math.max(0, this.#lookedAt + everyMs - this.#engine.clock.monotonic())
  }

  /** Returns whether anything has changed. After an error, what is known stays, and the next look tries again. */
  async look(): Promise<boolean> {
    try {
      return await this.#refresh()
    } catch (error) {
      // The log hears of a store that cannot be used from the worker's line, once for all calls.
      if (!isUnavailable(error) && !isClosed(error))
        this.#engine.logger.log('warn', `definitions could not be looked up: ${String(error)}`)
      return false
    }
  }

  async #refresh(): Promise<boolean> {
    const { catalogue, clock } = this.#engine
    const now = clock.monotonic()
    this.#lookedAt = now
    this.#mayHaveChanged = false
    const { rollOut, changes } = await catalogue.look()
    const hasNewPins = this.#setPins(rollOut)
    // A client that submits a definition may die before it counts the change.
    const isDue = now - this.#listedAt >= limits.catalogueListMs
    if (changes === this.#changes && !isDue) return hasNewPins
    this.#names = new Set(await catalogue.names())
    this.#changes = changes
    this.#listedAt = now
    return true
  }

  #setPins(rollOut: RollOut): boolean {
    const { build, code } = this.#settings
    const pins = this.#takesShare ? pinsOf(rollOut, code) : unpinned(rollOut, code, build)
    const hasChanged = JSON.stringify(pins) !== JSON.stringify(this.#pins)
    this.#pins = pins
    return hasChanged
  }
}

// The engine was closed during the look.
function isClosed(error: unknown): boolean {
  return error instanceof PawlError && error.code === 'WORKER_STOPPED'
}
