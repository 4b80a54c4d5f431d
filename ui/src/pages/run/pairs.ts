// The steps of two runs, matched by their keys, in the order of the first run.
import type { StepRecord } from 'pawl/client'

export interface Pair {
  readonly key: string
  readonly name: string
  readonly here: StepRecord | undefined
  readonly there: StepRecord | undefined
  /** It ended otherwise, was tried more or less often, or is in one of them only. */
  readonly differs: boolean
  /** How much longer it took here. */
  readonly longerMs: number | undefined
}

function keyOf({ key, step }: StepRecord): string {
  return key ?? step
}

export function pairsOf(here: readonly StepRecord[], there: readonly StepRecord[]): readonly Pair[] {
  const others = new Map(there.map((step) => [keyOf(step), step]))
  // A graph step has no key until it begins: then its name counts.
  const byName = new Map(there.filter(({ after }) => after !== undefined).map((step) => [step.step, step]))
  const seen = new Set<StepRecord>()
  const pairs = here.map((step) => {
    const other = others.get(keyOf(step)) ?? (step.after ? byName.get(step.step) : undefined)
    if (other) seen.add(other)
    return pairOf(keyOf(step), step, other)
  })
  const rest = there.filter((step) => !seen.has(step)).map((step) => pairOf(keyOf(step), undefined, step))
  return [...pairs, ...rest]
}

function pairOf(key: string, here: StepRecord | undefined, there: StepRecord | undefined): Pair {
  const differs = here?.state !== there?.state || here?.attempts !== there?.attempts
  const [one, other] = [tookMs(here), tookMs(there)]
  const longerMs = one === undefined || other === undefined ? undefined : one - other
  return { key, name: (here ?? there)?.step ?? key, here, there, differs, longerMs }
}

function tookMs(step: StepRecord | undefined): number | undefined {
  const { startedAt, endedAt } = step ?? {}
  return startedAt && endedAt ? endedAt.getTime() - startedAt.getTime() : undefined
}
