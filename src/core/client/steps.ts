// The steps of a run, each once, and where it stands. Of a graph all of them, in the order of its definition: the definition is
// in the history, so no code is needed.
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import { parseNodeKey } from '../deciders/graph/node-key.ts'
import { isOfGraph } from '../deciders/graph/rewind.ts'
import { RULES } from '../definitions/graph-plan.ts'
import type { Event, StepShape } from '../kernel/event.ts'
import { listOf, type TimelineRow, timelineOf } from './timeline.ts'

/** Where a step stands. */
export type StepState =
  | 'not started'
  | 'delayed'
  | 'waiting'
  | 'running'
  | 'completed'
  | 'failed'
  | 'timed out'
  | 'cancelled'
  | 'skipped'

/** A step of a run, and where it stands. */
export interface StepRecord {
  readonly step: string
  readonly kind: string
  readonly state: StepState
  /** Attempts that have started, including the one in progress. */
  readonly attempts: number
  readonly key?: string
  /** Of a graph step: the steps it comes after. */
  readonly after?: readonly string[]
  /** Of a graph step: which outcomes of those let it start, unless all have to succeed. */
  readonly rule?: string
  readonly items?: { readonly all: number; readonly ended: number }
  readonly startedAt?: Date
  readonly endedAt?: Date
  readonly failure?: Failure
}

export function stepsOf(events: readonly Event[], now: Instant): StepRecord[] {
  const rows = timelineOf(events, now, now).rows.filter(({ kind }) => kind !== 'mark')
  const definition = definitionIn(events)
  if (!definition) return rows.map((row) => stepOf(row, row.name))
  const byName = Map.groupBy(rows, ({ key = '' }) => definition.nameOf(key))
  const steps = definition.shapes.flatMap((shape) => graphStep(shape, byName, definition.skipped))
  const others = rows.filter(({ key = '' }) => !definition.has(key))
  return [...steps, ...others.map((row) => stepOf(row, row.name))]
}

interface Definition {
  readonly shapes: readonly StepShape[]
  readonly skipped: ReadonlySet<string>
  /** The name of the step in the newest definition; empty for a key that is no step of the graph. */
  nameOf(key: string): string
  has(key: string): boolean
}

/** The newest definition of a graph in the history, and the names under which it knows earlier steps. */
function definitionIn(events: readonly Event[]): Definition | undefined {
  let shapes: readonly StepShape[] | undefined
  let completed = false
  const names = new Map<string, string>()
  const skipped = new Set<string>()
  for (const event of events) {
    if (event.type === 'DefinitionTaken') shapes = event.steps
    if (event.type === 'RunCompleted') completed = true
    if (event.type !== 'MigrationRequested') continue
    for (const [from, to] of Object.entries(event.steps)) {
      if (to === null) skipped.add(from)
      for (const [old, now] of names) if (now === from && to !== null) names.set(old, to)
      if (to !== null) names.set(from, to)
    }
  }
  if (!shapes || !isOfGraph(events)) return undefined
  const known = new Set(shapes.map(([name]) => name))
  const nameOf = (key: string): string => {
    const node = parseNodeKey(key)
    return node && node.kind !== 'undo' ? (names.get(node.name) ?? node.name) : ''
  }
  // What a run that has completed did not come to, it passed by: what it came after was skipped.
  if (completed) for (const name of known) skipped.add(name)
  return { shapes, skipped, nameOf, has: (key) => known.has(nameOf(key)) }
}

/** The items of a list of a graph that have begun. If the list was run again, only its last run counts. */
export function itemsOf(events: readonly Event[], list: string, now: Instant): StepRecord[] {
  const taken = events.findLast((event) => event.type === 'ListTaken' && parseNodeKey(event.key)?.name === list)
  if (taken?.type !== 'ListTaken') return []
  const rows = timelineOf(events, now, now, taken.key).rows.filter(({ key = '' }) => listOf(key) === taken.key)
  return rows.map((row) => stepOf(row, `${list}[${parseNodeKey(row.key ?? '')?.index}]`))
}

/** The rows of a graph step. If it was run again, only its last run counts. */
function graphStep(
  [name, what, ...after]: StepShape,
  rows: ReadonlyMap<string, readonly TimelineRow[]>,
  skipped: ReadonlySet<string>,
): StepRecord[] {
  const own = rows.get(name) ?? []
  const isDelay = ({ key = '' }: TimelineRow): boolean => key.startsWith('delay:')
  const last = own.findLast((row) => !isDelay(row))
  const rule = ruleOf(what)
  const shape = { kind: kindOf(what), after, ...(rule !== undefined && { rule }) }
  if (last) return [{ ...stepOf(last, name), ...shape }]
  const state = own.some(isDelay) ? 'delayed' : skipped.has(name) ? 'skipped' : 'not started'
  return [{ step: name, state, attempts: 0, ...shape }]
}

function kindOf(what: string): string {
  return / each\b/.test(what) ? 'list' : (/^\w+/.exec(what)?.[0] ?? 'step')
}

/** The last word of a shape, if the step has a rule of its own. */
function ruleOf(what: string): string | undefined {
  return RULES.find((rule) => what.endsWith(` ${rule}`))
}

function stepOf(row: TimelineRow, step: string): StepRecord {
  const { kind, key, items, from, to, failure } = row
  return {
    step,
    kind: kind === 'sideEffect' ? 'side effect' : kind,
    state: stateOf(row),
    attempts: attemptsOf(row),
    ...(key !== undefined && { key }),
    ...(items && { items }),
    ...(row.outcome !== 'skipped' && { startedAt: from }),
    ...(to !== undefined && row.outcome !== 'skipped' && { endedAt: to }),
    ...(failure && { failure }),
  }
}

function attemptsOf({ kind, attempts, outcome, items, left }: TimelineRow): number {
  if (items || !['step', 'activity', 'sideEffect', 'undo'].includes(kind)) return 0
  return outcome === 'open' && !left.has(attempts) ? attempts + 1 : attempts
}

const ENDED_AS = {
  done: 'completed',
  failed: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
  skipped: 'skipped',
} as const

function stateOf({ kind, outcome, left, attempts }: TimelineRow): StepState {
  if (outcome !== 'open') return ENDED_AS[outcome]
  const waits = left.has(attempts) || ['sleep', 'signal', 'condition', 'child'].includes(kind)
  return waits ? 'waiting' : 'running'
}
