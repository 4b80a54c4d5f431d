// Builds of the user's code with pinned runs, and the shares of new runs that they get.

import { defined } from '../../core/base/defined.ts'
import { checkKnownName } from '../../core/base/names.ts'
import { type Catalogue, type WorkerRecord, withoutBuild, withShare } from '../../core/index.ts'

/** A build with pinned runs. */
export interface BuildRecord {
  readonly build: string
  /** Its share of new runs, in percent. Absent if it has none, and starts runs that no share covers. */
  readonly percent?: number
  /** It starts no more runs, and other builds may continue its runs. */
  readonly retired: boolean
  /** How many of its runs have not ended. */
  readonly runs: number
  /** How many of its workers are alive. */
  readonly workers: number
}

/** @internal */
export interface BuildsHost {
  readonly catalogue: Catalogue
  /** How many runs in progress are pinned to the build. */
  countRuns(build: string): Promise<number>
  workers(): Promise<readonly WorkerRecord[]>
}

/** Controls which builds start new runs: `engine.builds`. */
export class Builds {
  readonly #host: BuildsHost

  /** @internal */
  constructor(host: BuildsHost) {
    this.#host = host
  }

  /** All builds with a share, a living worker, or a retirement. */
  async list(): Promise<readonly BuildRecord[]> {
    const { shares, retired } = await this.#host.catalogue.rollOut()
    const percents = new Map(shares.map(({ build, percent }) => [build, percent]))
    const living = await this.#living()
    const names = new Set([...percents.keys(), ...retired, ...living])
    return Promise.all(
      [...names].map(async (build) => {
        const percent = percents.get(build)
        const runs = await this.#host.countRuns(build)
        const workers = living.filter((each) => each === build).length
        return defined({ build, percent, retired: retired.includes(build), runs, workers })
      }),
    )
  }

  /** The builds of living workers that pin their runs, once for each worker. */
  async #living(): Promise<readonly string[]> {
    const workers = await this.#host.workers()
    return workers.flatMap(({ alive, pin, build }) => (alive && pin && build !== undefined ? [build] : []))
  }

  /** True if a living worker, a run in progress or the roll-out has the build. @internal */
  async isKnown(build: string): Promise<boolean> {
    if ((await this.list()).some((each) => each.build === build)) return true
    return (await this.#host.countRuns(build)) > 0
  }

  /** Sets the share of new runs that a build starts, in percent. Runs it has started stay with it. */
  async rollOut(build: string, percent: number): Promise<void> {
    checkKnownName(build, 'the build')
    await this.#host.catalogue.changeRollOut((there) => withShare(there, build, percent))
  }

  /** Retires a build: it starts no more runs, and any other build may continue its runs. */
  async retire(build: string): Promise<void> {
    checkKnownName(build, 'the build')
    await this.#host.catalogue.changeRollOut((there) => withoutBuild(there, build))
  }
}
