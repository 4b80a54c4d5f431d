// What needs a person, by how many runs it holds up.
import type { OperationOutput } from 'pawl/client'
import { plural } from '../../data/format.ts'
import { paths, runsPath, schedulePath } from '../../data/pages.ts'
import { pageText } from '../../texts/pages.ts'

type Items<N extends 'runs.groups' | 'queues.list' | 'workers.list' | 'builds.checks' | 'schedules.list'> =
  OperationOutput<N>['items']

interface Facts {
  readonly workers: Items<'workers.list'>
  readonly queues: Items<'queues.list'>
  readonly checks: Items<'builds.checks'>
  readonly schedules: Items<'schedules.list'>
  /** Paused runs, and those that failed lately, by their reasons. */
  readonly paused: Items<'runs.groups'>
  readonly failed: Items<'runs.groups'>
}

export interface Need {
  /** Whose colour it has. */
  readonly kind: 'paused' | 'failed'
  readonly icon: string
  readonly what: string
  readonly detail: string
  readonly since?: Date
  readonly count: number
  readonly href: string
  readonly action: string
}

const MOST = 8
/** Slots that were missed before are history. */
const LATELY_MS = 86_400_000
const words = pageText.overview

export function needsOf(facts: Facts): readonly Need[] {
  const all = [...ofRuns(facts), ...ofQueues(facts), ...ofBuilds(facts), ...ofSchedules(facts)]
  return all.toSorted((one, other) => other.count - one.count).slice(0, MOST)
}

function ofRuns({ paused, failed }: Facts): readonly Need[] {
  const groups = [
    ...paused.map((group) => ['paused', group] as const),
    ...failed.map((group) => ['failed', group] as const),
  ]
  return groups.map(([kind, { key, count, oldest }]) => {
    const reason = key.slice(key.indexOf(':') + 1)
    const detail = reason === key || reason === 'Paused' ? '' : reason
    const many = plural(count, 'run')
    return {
      ...{ kind, icon: `st-${kind}`, detail, since: oldest, count },
      what: kind === 'paused' ? words.paused(many) : words.failed(many),
      href: runsPath(kind === 'paused' ? 'status:paused' : `failure:${quoted(reason)} started:<24h`),
      action: words.see,
    }
  })
}

function ofQueues({ workers, queues }: Facts): readonly Need[] {
  return queues
    .filter(({ queue }) => !workers.some((worker) => worker.alive && worker.queues.includes(queue)))
    .map(({ queue, due, oldest }) => ({
      ...({ kind: 'paused', icon: 'workers', what: words.noWorker(queue), detail: words.waits(String(due)) } as const),
      ...{ since: oldest, count: due, href: paths.fleet, action: words.seeQueues },
    }))
}

function ofBuilds({ checks, workers }: Facts): readonly Need[] {
  const living = new Set(workers.filter(({ alive }) => alive).map(({ build }) => build))
  return checks
    .filter(({ build, counts }) => living.has(build) && counts.differs > 0)
    .map(({ build, counts, at }) => ({
      ...({
        kind: 'paused',
        icon: 'build',
        what: words.checked(build),
        detail: plural(counts.differs, 'run'),
      } as const),
      ...{ since: at, count: counts.differs, href: paths.builds, action: words.seeBuilds },
    }))
}

function ofSchedules({ schedules }: Facts): readonly Need[] {
  return schedules
    .filter(({ lastMissed }) => lastMissed && Date.now() - lastMissed.getTime() < LATELY_MS)
    .map(({ id, missed, lastMissed, workflow }) => ({
      ...({ kind: 'paused', icon: 'clock', what: words.missed(id, plural(missed, 'slot')), detail: workflow } as const),
      ...{ count: missed, href: schedulePath(id), action: words.seeSchedule, ...(lastMissed && { since: lastMissed }) },
    }))
}

function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value
}
