// Builds of the user's code that keep the runs they began, and how new runs are shared among them.

import { checkKnownName } from '../base/names.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { withoutBuild, withShare } from '../policies/roll-out.ts'

/** A build that pins its runs, and what it has to do. */
export interface BuildRecord {
  readonly build: string
  /** New runs, in percent; absent if it shares what is left with all that are not named. */
  readonly percent?: number
  /** Others may go on with its runs. */
  readonly retired: boolean
  /** Its runs that have not ended. */
  readonly runs: number
  /** Its workers that are alive. */
  readonly workers: number
}

/** @internal */
export interface BuildsHost {
  readonly catalogue: Catalogue
  /** Runs under way that a build keeps. */
  countRuns(build: string): Promise<number>
  /** Builds of workers that are alive and keep the runs they begin, once for each worker. */
  living(): Promise<readonly string[]>
}

/** Which builds get new runs: `engine.builds`. */
export class Builds {
  readonly #host: BuildsHost

  /** @internal */
  constructor(host: BuildsHost) {
    this.#host = host
  }

  async list(): Promise<readonly BuildRecord[]> {
    const { shares, retired } = await this.#host.catalogue.rollOut()
    const percents = new Map(shares.map(({ build, percent }) => [build, percent]))
    const living = await this.#host.living()
    const names = new Set([...percents.keys(), ...retired, ...living])
    return Promise.all(
      [...names].map(async (build) => {
        const percent = percents.get(build)
        const runs = await this.#host.countRuns(build)
        const share = percent === undefined ? {} : { percent }
        const workers = living.filter((each) => each === build).length
        return { build, ...share, retired: retired.includes(build), runs, workers }
      }),
    )
  }

  /** Whether a living worker, a run in progress or the roll-out has it. @internal */
  async isKnown(build: string): Promise<boolean> {
    if ((await this.list()).some((each) => each.build === build)) return true
    return (await this.#host.countRuns(build)) > 0
  }

  /** Gives a build so many of the new runs. It keeps those it has begun, whatever it is given. */
  async rollOut(build: string, percent: number): Promise<void> {
    checkKnownName(build, 'the build')
    await this.#host.catalogue.changeRollOut((there) => withShare(there, build, percent))
  }

  /** Has a build begin nothing more, and lets any other go on with what it began. */
  async retire(build: string): Promise<void> {
    checkKnownName(build, 'the build')
    await this.#host.catalogue.changeRollOut((there) => withoutBuild(there, build))
  }
}
