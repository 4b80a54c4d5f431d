// Builds of the user's code with pinned runs, and the shares of new runs that they get.

import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { checkKnownName } from '../../core/base/names.ts'
import type { Catalogue, RollOut, WorkerRecord } from '../../core/index.ts'
import { type CheckedRun, type CheckReport, reportOf } from './check-report.ts'

type StoredReport = Omit<CheckReport, 'at'> & { readonly at: number }

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
  now(): number
}

const CHECKS = 'checks'

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

  /** Keeps what a check of a build's code found, for people to see. It replaces the report of an earlier check. */
  async keepCheck(build: string, found: readonly CheckedRun[]): Promise<CheckReport> {
    checkKnownName(build, 'the build')
    const at = this.#host.now()
    const report = reportOf(found, build, new Date(at))
    await this.#host.catalogue.records.change<StoredReport>(CHECKS, build, () => ({ ...report, at }))
    return report
  }

  /** The newest check of each build whose report was kept, newest first. */
  async checks(): Promise<readonly CheckReport[]> {
    const { records } = this.#host.catalogue
    const found: CheckReport[] = []
    for (let after: string | undefined; ; ) {
      const page = await records.list<StoredReport>(CHECKS, after, limits.recordsListedMax)
      found.push(...page.map(([, { at, ...report }]) => ({ ...report, at: new Date(at) })))
      after = page.at(-1)?.[0]
      if (page.length < limits.recordsListedMax) break
    }
    return found.toSorted((a, b) => b.at.getTime() - a.at.getTime()).slice(0, limits.checkReportsShown)
  }

  /** Retires a build: it starts no more runs, and any other build may continue its runs. */
  async retire(build: string): Promise<void> {
    checkKnownName(build, 'the build')
    await this.#host.catalogue.changeRollOut((there) => withoutBuild(there, build))
  }
}

/** The roll-out with the share of a build set. */
function withShare(rollOut: RollOut, build: string, percent: number): RollOut {
  if (!Number.isFinite(percent) || percent < 0 || percent > 100) {
    throw new PawlError('INPUT_INVALID', `percent is ${percent}; expected a number from 0 to 100.`)
  }
  const others = rollOut.shares.filter((each) => each.build !== build)
  const shares = [...others, { build, percent }]
  const sum = shares.reduce((total, each) => total + each.percent, 0)
  if (sum > 100) {
    const named = others.map((each) => `${each.build} ${each.percent} %`).join(', ')
    throw new PawlError(
      'INPUT_INVALID',
      `${percent} % for build '${build}' would make more than 100 % together with ${named}. Lower one of those first.`,
    )
  }
  return { shares, retired: rollOut.retired.filter((each) => each !== build) }
}

/** The roll-out with a build retired. */
function withoutBuild(rollOut: RollOut, build: string): RollOut {
  return {
    shares: rollOut.shares.filter((each) => each.build !== build),
    retired: [...new Set([...rollOut.retired, build])],
  }
}
