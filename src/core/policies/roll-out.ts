// Roll-outs: which build of the user's code starts which runs, when several builds with pinned runs are at work.

/** The configured shares and retired builds. Builds without a share start the runs that are left. */
export interface RollOut {
  /** The share of new runs for a build, in percent, in the order in which they were set. */
  readonly shares: readonly { readonly build: string; readonly percent: number }[]
  /** Builds that start no more runs, and whose runs any other build may continue. */
  readonly retired: readonly string[]
}

export const noRollOut: RollOut = { shares: [], retired: [] }

/** The range of share numbers: every run has one number from 0 to this, exclusive. */
export const SHARES = 65_536

/** The runs that a worker may claim: those pinned to `builds`, and unpinned ones with a share number in [from, to). */
export interface Pins {
  readonly builds: readonly string[]
  readonly from: number
  readonly to: number
}

/** The pins of a worker with `pin: true`, which takes part in roll-outs. */
export function pinsOf(rollOut: RollOut, build: string): Pins {
  const { shares, retired } = rollOut
  const builds = servedBy(rollOut, build)
  let from = 0
  for (const each of shares) {
    const to = Math.min(100, from + each.percent)
    if (each.build === build) return { builds, from: shareAt(from), to: shareAt(to) }
    from = to
  }
  // A retired build starts no new runs.
  return { builds, from: shareAt(from), to: retired.includes(build) ? shareAt(from) : SHARES }
}

/** The pins of an unpinned worker: every unpinned run. Undefined if the store would use the same pins by default. */
export function unpinned(rollOut: RollOut, build: string, worker = build): Pins | undefined {
  const builds = servedBy(rollOut, build)
  return builds.length === 1 && worker === build ? undefined : { builds, from: 0, to: SHARES }
}

/** The build whose share includes this run, if there is one. */
export function shareHolder(rollOut: RollOut, runId: string): string | undefined {
  const has = ({ build }: { readonly build: string }): boolean => isFor(pinsOf(rollOut, build), runId)
  return rollOut.shares.find(has)?.build
}

/** True if the pins include a run: by the build it is pinned to or, if it is unpinned, by its share number. */
export function isFor({ builds, from, to }: Pins, runId: string, pin?: string): boolean {
  if (pin !== undefined) return builds.includes(pin)
  const share = Number.parseInt(runId.slice(-4), 16)
  return from <= share && share < to
}

function servedBy({ retired }: RollOut, build: string): string[] {
  return [build, ...retired.filter((each) => each !== build)]
}

function shareAt(percent: number): number {
  return Math.round((percent / 100) * SHARES)
}
