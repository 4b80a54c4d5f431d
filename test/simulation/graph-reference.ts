// What graphs must come to, said as plainly as possible: rules over lists of what became of the steps before, everything
// worked out from the beginning each time anybody asks. Shares no code with the decider.
import type { Rule } from '../../src/core/definitions/graph-plan.ts'
import { TIMEOUT } from '../../src/index.ts'
import type { GraphSpec, StepSpec } from './random-graphs.ts'

export type Ended = 'succeeded' | 'failed' | 'skipped' | 'stopped'
/** `ready` may begin, and has not. */
export type Standing = Ended | 'begun' | 'waiting' | 'ready'

export function endIn(standing: Standing | undefined): Ended | undefined {
  return standing === 'begun' || standing === 'ready' || standing === 'waiting' ? undefined : standing
}

/** By what became of the steps it comes after, `undefined` while that is not known. */
export function verdictOf(rule: Rule, parents: readonly (Ended | undefined)[]): 'run' | 'skip' | 'wait' {
  const some = (...ends: Ended[]): boolean => parents.some((end) => end && ends.includes(end))
  const over = !parents.includes(undefined)
  switch (rule) {
    case 'allSucceeded':
      if (some('failed', 'stopped', 'skipped')) return 'skip'
      return over ? 'run' : 'wait'
    case 'noneFailed':
      if (some('failed', 'stopped')) return 'skip'
      return over ? 'run' : 'wait'
    case 'allDone':
      return over ? 'run' : 'wait'
    case 'oneSucceeded':
      if (some('succeeded')) return 'run'
      return over ? 'skip' : 'wait'
    case 'oneDone':
      if (some('succeeded', 'failed')) return 'run'
      return over ? 'skip' : 'wait'
    case 'oneFailed':
      if (some('failed')) return 'run'
      return over ? 'skip' : 'wait'
  }
}

type Results = Readonly<Record<string, unknown>>

/** What a step gives. One that need not wait for all it comes after does not look at them: it may have seen any. */
export function valueOf(step: StepSpec, input: number, results: Results, item?: number): number {
  const seen = step.rule.startsWith('one') ? [] : step.after.map((name) => plain(results[name]))
  return numberOf([step.name, input, seen, item ?? null])
}

/** Whether its condition holds. */
export function conditionOf(step: StepSpec, input: number, results: Results): boolean {
  const looksAt = step.when === 'results' ? results : {}
  return valueOf({ ...step, name: `if ${step.name}` }, input, looksAt) % 3 !== 0
}

/** What a step is done for. */
export function itemsOf(step: StepSpec, input: number, results: Results): number[] {
  const count = step.work.do === 'each' ? step.work.items : 0
  const first = valueOf({ ...step, name: `over ${step.name}` }, input, results) % 100
  return Array.from({ length: count }, (_, index) => first + index)
}

const plain = (value: unknown): unknown => (value === TIMEOUT ? 'timeout' : (value ?? null))

function numberOf(what: unknown): number {
  let hash = 7
  for (const char of JSON.stringify(what)) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003
  return hash
}

/** What the description leaves open, and the history says. */
export interface Facts {
  /** Waits whose time was over before their signal came. */
  readonly timedOut: ReadonlySet<string>
  /** Steps whose fickle condition did not hold. */
  readonly fickle: ReadonlySet<string>
  /** Steps that were cut off with their only attempt. */
  readonly died: ReadonlySet<string>
  /** A condition or a wait was met once more, since its step was undone, and what came after it the first time was kept. */
  readonly wavered: boolean
  readonly heals: (step: StepSpec) => boolean
}

export interface Outcome {
  readonly status: 'succeeded' | 'failed' | 'skipped'
  readonly value?: unknown
}

/** Whether a step that is reached comes to a bad end. */
export function isDoomed(step: StepSpec, { died, heals }: Pick<Facts, 'died' | 'heals'>): boolean {
  if (died.has(step.name)) return true
  return !heals(step) && (step.when === 'throws' || failsIn(step))
}

function failsIn({ work }: StepSpec): boolean {
  switch (work.do) {
    case 'wait':
      return false
    case 'child':
      return work.fails
    case 'each':
      return work.items > 0 && isBad(work.end.how)
    default:
      return isBad(work.end.how)
  }
}

function isBad(how: string): boolean {
  return how === 'fails' || how === 'hangs' || how === 'drags'
}

/**
 * What becomes of each step. Exact if nothing fails. Otherwise it is only certain that something does: what had begun by
 * then is a matter of time.
 */
export function outcomesOf(spec: GraphSpec, facts: Facts): ReadonlyMap<string, Outcome> {
  const outcomes = new Map<string, Outcome>()
  // Steps are written after those they come after.
  for (const step of spec.steps) outcomes.set(step.name, outcomeOf(spec, step, outcomes, facts))
  return outcomes
}

function outcomeOf(
  { input }: GraphSpec,
  step: StepSpec,
  outcomes: ReadonlyMap<string, Outcome>,
  facts: Facts,
): Outcome {
  const parents = step.after.map((name) => outcomes.get(name)?.status)
  const skipped = { status: 'skipped' } as const
  if (verdictOf(step.rule, parents) !== 'run') return skipped
  const seen = step.after.filter((name) => outcomes.get(name)?.status === 'succeeded')
  const results = Object.fromEntries(seen.map((name) => [name, outcomes.get(name)?.value]))
  if (!holds(step, input, results, facts)) return skipped
  if (isDoomed(step, facts)) return { status: 'failed' }
  return { status: 'succeeded', value: resultOf(step, input, results, facts) }
}

export function holds(step: StepSpec, input: number, results: Results, facts: Facts): boolean {
  if (step.when === undefined || step.when === 'throws') return true
  return step.when === 'fickle' ? !facts.fickle.has(step.name) : conditionOf(step, input, results)
}

export function resultOf(
  step: StepSpec,
  input: number,
  results: Results,
  { timedOut }: Pick<Facts, 'timedOut'>,
): unknown {
  const { work } = step
  switch (work.do) {
    case 'wait':
      return timedOut.has(step.name) ? TIMEOUT : work.signal
    case 'each':
      return itemsOf(step, input, results).map((item) => valueOf(step, input, results, item))
    default:
      return valueOf(step, input, results)
  }
}

/** What a run gives whose steps came to this. */
export function outputOf(spec: GraphSpec, outcomes: ReadonlyMap<string, Outcome>): unknown {
  const known = [...outcomes].filter(([, { status }]) => status === 'succeeded')
  if (spec.output === 'count') return known.length
  return Object.fromEntries(known.map(([name, { value }]) => [name, value]))
}
