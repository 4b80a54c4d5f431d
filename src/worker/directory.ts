// What a worker knows from the store of definitions and builds, looked up now and then: which names it can run besides those
// it has code for, and whose runs it takes.
import { limits } from '../kernel/limits.ts'
import { type Pins, pinsOf } from '../policies/roll-out.ts'
import type { WorkerPorts, WorkerSettings } from './worker-settings.ts'

export class Directory {
  readonly #ports: Pick<WorkerPorts, 'registry' | 'catalogue' | 'clock'>
  /** The build whose runs only are taken, if it keeps to those. */
  readonly #pin: string | undefined
  #names: ReadonlySet<string> = new Set()
  #changes = -1
  #pins: Pins | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(
    ports: Pick<WorkerPorts, 'registry' | 'catalogue' | 'clock'>,
    { pin, build }: Pick<WorkerSettings, 'pin' | 'build'>,
  ) {
    this.#ports = ports
    this.#pin = pin ? build : undefined
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

  knows(name: string): boolean {
    return this.#ports.registry.workflow(name) !== undefined || this.#names.has(name)
  }

  get isStale(): boolean {
    return this.#ports.clock.monotonic() - this.#lookedAt >= limits.catalogueRefreshMs
  }

  /** Answers whether there is something new. */
  async refresh(): Promise<boolean> {
    const { catalogue, clock } = this.#ports
    this.#lookedAt = clock.monotonic()
    if (this.#pin !== undefined) this.#pins = pinsOf(await catalogue.rollOut(), this.#pin)
    const changes = await catalogue.changes()
    if (changes === this.#changes) return false
    this.#names = new Set(await catalogue.names())
    this.#changes = changes
    return true
  }
}
