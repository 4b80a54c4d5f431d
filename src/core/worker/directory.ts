// What a worker knows from the store of definitions and builds, looked up now and then: which names it can run besides those
// it has code for, and whose runs it takes.
import { limits } from '../base/limits.ts'
import { isFor, type Pins, pinsOf, type RollOut, unpinned } from '../policies/roll-out.ts'
import { isUnavailable } from '../runtime/availability.ts'
import { takesShare, type WorkerPorts, type WorkerSettings } from './worker-settings.ts'

export class Directory {
  readonly #ports: Pick<WorkerPorts, 'registry' | 'catalogue' | 'clock' | 'logger'>
  readonly #settings: Pick<WorkerSettings, 'pin' | 'build' | 'code' | 'pollMs'>
  readonly #takesShare: boolean
  #names: ReadonlySet<string> = new Set()
  #changes = -1
  #pins: Pins | undefined
  #lookedAt = Number.NEGATIVE_INFINITY
  #heard = false
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(
    ports: Pick<WorkerPorts, 'registry' | 'catalogue' | 'clock' | 'logger'>,
    settings: Pick<WorkerSettings, 'pin' | 'build' | 'code' | 'pollMs'>,
  ) {
    this.#ports = ports
    this.#settings = settings
    this.#takesShare = takesShare(settings, ports.registry)
    // Before it knows its share, a worker that takes only that begins nothing.
    if (this.#takesShare) this.#pins = { builds: [settings.code], from: 0, to: 0 }
  }

  /** Names of workflows to ask for; `null` is any. */
  get workflows(): readonly string[] | null {
    const { workflowNames } = this.#ports.registry
    if (workflowNames === null || this.#names.size === 0) return workflowNames
    return [...new Set([...workflowNames, ...this.#names])]
  }

  get pins(): Pins | undefined {
    return this.#pins
  }

  /** Whether it would begin a new run. */
  begins({ name, runId }: { readonly name: string; readonly runId: string }): boolean {
    if (this.#pins && !isFor(this.#pins, runId)) return false
    return this.#ports.registry.workflow(name) !== undefined || this.#names.has(name)
  }

  /** Something was written by somebody: it is worth a look soon. */
  hear(): void {
    this.#heard = true
  }

  /** How long until it should be looked at again. */
  get dueInMs(): number {
    const { pollMs } = this.#settings
    // Who looks only when it is told to looks at once.
    if (!Number.isFinite(pollMs)) return this.#heard ? 0 : pollMs
    const everyMs = this.#heard ? limits.catalogueHeardMs : limits.catalogueRefreshMs
    return Math.max(0, this.#lookedAt + everyMs - this.#ports.clock.monotonic())
  }

  /** Answers whether there is something new. What cannot be looked up now is looked up later; what is known stays known. */
  async look(): Promise<boolean> {
    try {
      return await this.#refresh()
    } catch (error) {
      // The worker tells of a store that it cannot use, once for all its calls.
      if (!isUnavailable(error))
        this.#ports.logger.log('warn', `definitions could not be looked up: ${String(error)}`)
      return false
    }
  }

  async #refresh(): Promise<boolean> {
    const { catalogue, clock } = this.#ports
    const now = clock.monotonic()
    this.#lookedAt = now
    this.#heard = false
    const { rollOut, changes } = await catalogue.look()
    const isOther = this.#learn(rollOut)
    // Whoever submits may die before it says that something has changed.
    const isDue = now - this.#listedAt >= limits.catalogueListMs
    if (changes === this.#changes && !isDue) return isOther
    this.#names = new Set(await catalogue.names())
    this.#changes = changes
    this.#listedAt = now
    return true
  }

  #learn(rollOut: RollOut): boolean {
    const { build, code } = this.#settings
    const pins = this.#takesShare ? pinsOf(rollOut, code) : unpinned(rollOut, code, build)
    const isOther = JSON.stringify(pins) !== JSON.stringify(this.#pins)
    this.#pins = pins
    return isOther
  }
}
