// What a check found, in a form that is kept and shown: runs with the same finding are one group.
import { defined } from '../../core/base/defined.ts'
import { limits } from '../../core/base/limits.ts'
import type { Status, Verdict } from '../../core/index.ts'

/** A run in progress, and whether the code that was checked would continue it. */
export type CheckedRun = Verdict & {
  readonly runId: string
  readonly workflowId: string
  readonly name: string
  readonly status: Status
  /** The build that the run is pinned to, if it is another. */
  readonly keptBy?: string
}

/** Runs of one workflow with the same finding. */
export interface CheckGroup {
  /** `pinned`: another build keeps the runs, so this code continues them only after that build is retired. */
  readonly finding: 'differs' | 'noCode' | 'pinned' | 'unrequested' | 'moves'
  readonly workflow: string
  /** The difference, or what the code no longer requests. */
  readonly text: string
  readonly count: number
  /** The first of them. */
  readonly runs: readonly Pick<CheckedRun, 'runId' | 'workflowId'>[]
}

/** What the newest check of a build found. */
export interface CheckReport {
  readonly build: string
  readonly at: Date
  /** Runs that were checked, and how many of them the code would continue, would not, or has no code for. */
  readonly counts: Readonly<Record<'all' | 'moves' | 'differs' | 'noCode' | 'pinned', number>>
  /** The most serious first. */
  readonly groups: readonly CheckGroup[]
}

const SEVERITY: readonly CheckGroup['finding'][] = ['differs', 'noCode', 'pinned', 'unrequested', 'moves']

export function groupsOf(found: readonly CheckedRun[]): readonly CheckGroup[] {
  const groups = new Map<string, CheckGroup>()
  for (const run of found) {
    const { finding, text } = findingOf(run)
    const key = JSON.stringify([finding, run.name, text])
    const { count, runs } = groups.get(key) ?? { count: 0, runs: [] }
    const { runId, workflowId } = run
    const shown = count < limits.checkRunsShown ? [...runs, { runId, workflowId }] : runs
    groups.set(key, { finding, workflow: run.name, text, count: count + 1, runs: shown })
  }
  const rank = ({ finding }: CheckGroup): number => SEVERITY.indexOf(finding)
  return [...groups.values()].toSorted((a, b) => rank(a) - rank(b) || b.count - a.count)
}

export function reportOf(found: readonly CheckedRun[], build: string, at: Date): CheckReport {
  const own = found.filter(({ keptBy }) => keptBy === undefined)
  const count = (verdict: Verdict['verdict']): number => own.filter((run) => run.verdict === verdict).length
  const counts = {
    all: found.length,
    moves: count('moves'),
    differs: count('differs'),
    noCode: count('noCode'),
    pinned: found.length - own.length,
  }
  return { build, at, counts, groups: groupsOf(found).slice(0, limits.checkGroupsKept).map(bounded) }
}

function bounded(group: CheckGroup): CheckGroup {
  return defined({ ...group, text: group.text.slice(0, limits.checkTextLengthMax) })
}

// The text of a finding has no run id, so that runs with the same finding form one group.
function findingOf(run: CheckedRun): Pick<CheckGroup, 'finding' | 'text'> {
  if (run.keptBy !== undefined) {
    const fits = run.verdict === 'moves' ? 'is compatible' : 'is not compatible: do not retire the build yet'
    return { finding: 'pinned', text: `pinned to build '${run.keptBy}'. This code ${fits}.` }
  }
  if (run.verdict === 'differs') return { finding: 'differs', text: run.failure.message.replaceAll(run.runId, '<run>') }
  if (run.verdict === 'noCode') return { finding: 'noCode', text: '' }
  if (run.unrequested.length === 0) return { finding: 'moves', text: '' }
  return { finding: 'unrequested', text: `recorded, but no longer in the code: ${run.unrequested.join(', ')}` }
}
