// Which build of the user's code begins which runs, when several builds are at work that keep the runs they began.
import { PawlError } from '../base/errors.ts'

/** What was said about builds. Whoever is not named shares what is left. */
export interface RollOut {
  /** New runs, in percent, in the order they were named. */
  readonly shares: readonly { readonly build: string; readonly percent: number }[]
  /** Builds whose runs any other may go on with. */
  readonly retired: readonly string[]
}

export const nothingSaid: RollOut = { shares: [], retired: [] }

/** All shares there are: a run's is one of these numbers. */
export const SHARES = 65_536

/** Whose runs a worker of a build takes, and which of those that nobody has begun: from, up to and without to. */
export interface Pins {
  readonly builds: readonly string[]
  readonly from: number
  readonly to: number
}

/** Of a worker that takes part in roll-outs. */
export function pinsOf(rollOut: RollOut, build: string): Pins {
  const { shares, retired } = rollOut
  const builds = servedBy(rollOut, build)
  let from = 0
  for (const each of shares) {
    const to = Math.min(100, from + each.percent)
    if (each.build === build) return { builds, from: shareAt(from), to: shareAt(to) }
    from = to
  }
  // What is retired begins nothing more.
  return { builds, from: shareAt(from), to: retired.includes(build) ? shareAt(from) : SHARES }
}

/** Of a worker that does not: it begins whatever nobody has begun. Absent if that follows from what it is called itself. */
export function unpinned(rollOut: RollOut, build: string, worker = build): Pins | undefined {
  const builds = servedBy(rollOut, build)
  return builds.length === 1 && worker === build ? undefined : { builds, from: 0, to: SHARES }
}

/** The build that has the share of this run, if one was named for it. */
export function shareHolder(rollOut: RollOut, runId: string): string | undefined {
  const has = ({ build }: { readonly build: string }): boolean =>
    isFor(pinsOf(rollOut, build), runId)
  return rollOut.shares.find(has)?.build
}

/** Whether a run is one of those, by the build that has begun it, or by its share if none has. */
export function isFor({ builds, from, to }: Pins, runId: string, pin?: string): boolean {
  if (pin !== undefined) return builds.includes(pin)
  const share = Number.parseInt(runId.slice(-4), 16)
  return from <= share && share < to
}

function servedBy({ retired }: RollOut, build: string): string[] {
  return [build, ...retired.filter((each) => each !== build)]
}

/** The same with a build's share set; named first, it is the last to give way. */
export function withShare(rollOut: RollOut, build: string, percent: number): RollOut {
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
      `${percent} % for build '${build}' is more than what is left: ${named}. Lower one of those first.`,
    )
  }
  return { shares, retired: rollOut.retired.filter((each) => each !== build) }
}

/** The same with a build that begins nothing any more, and whose runs others may go on with. */
export function withoutBuild(rollOut: RollOut, build: string): RollOut {
  return {
    shares: rollOut.shares.filter((each) => each.build !== build),
    retired: [...new Set([...rollOut.retired, build])],
  }
}

function shareAt(percent: number): number {
  return Math.round((percent / 100) * SHARES)
}
