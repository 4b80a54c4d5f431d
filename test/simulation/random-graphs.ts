// Random graphs as plain data: what each step comes after, what it does and how that ends. The data is made so that what a
// step gives follows from what it must have seen, and everything else is left to chance.
import fc from 'fast-check'
import { RULES, type Rule } from '../../src/core/definitions/graph-plan.ts'

/** How often a body fails before it succeeds, or how it comes to its bad end. */
export type End =
  | { readonly how: 'succeeds'; readonly retries: number }
  /** It may be tried once only, so that the death of a worker is its end. */
  | { readonly how: 'once' }
  | { readonly how: 'fails'; readonly attempts: number; readonly permanently: boolean }
  /** An attempt takes longer than it may, or all of them together do. */
  | { readonly how: 'hangs' | 'drags' }

export type WorkSpec =
  | {
      readonly do: 'step' | 'activity'
      readonly ms: number
      readonly end: End
      readonly queued: boolean
    }
  | {
      readonly do: 'each'
      readonly ms: number
      readonly end: End
      readonly queued: boolean
      readonly items: number
      readonly parallel?: number
    }
  | {
      readonly do: 'child'
      readonly style: 'function' | 'graph'
      readonly ms: number
      readonly fails: boolean
    }
  /** Signals of one name are all alike, and there are as many of them as waits. */
  | {
      readonly do: 'wait'
      readonly signal: string
      readonly timeoutMs?: number
      readonly comesMs?: number
    }

/** What a condition looks at. One that is fickle says what it likes, and must be asked once. */
export type Condition = 'input' | 'results' | 'fickle' | 'throws'

export interface StepSpec {
  readonly name: string
  readonly after: readonly string[]
  readonly rule: Rule
  readonly when?: Condition
  readonly delayMs?: number
  readonly work: WorkSpec
  readonly undo?: { readonly works: boolean; readonly ownFailure: boolean }
}

export interface GraphSpec {
  readonly input: number
  readonly steps: readonly StepSpec[]
  readonly output: 'results' | 'count' | 'throws'
  readonly cancelMs?: number
  /** Once it has ended badly, it is tried again; then some of what failed works, or all of it. */
  readonly again?: 'healed' | 'better'
}

interface Draft {
  readonly parents: readonly number[]
  readonly rule: Rule
  readonly when: Condition | undefined
  readonly delayMs: number | undefined
  readonly work: (name: string) => WorkSpec
  readonly undo: StepSpec['undo'] | undefined
}

const often = fc.constant(undefined)
const ms = fc.constantFrom(0, 0, 1, 5, 20, 60)
const queued = fc.constantFrom(false, false, true)

const good: fc.Arbitrary<End> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ how: 'succeeds', retries: 0 } as const) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1, 2).map((retries) => ({ how: 'succeeds', retries }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ how: 'once' } as const) },
)
const bad: fc.Arbitrary<End> = fc.oneof(
  fc.record({
    how: fc.constant('fails' as const),
    attempts: fc.constantFrom(1, 2, 3),
    permanently: fc.boolean(),
  }),
  fc.record({ how: fc.constantFrom('hangs' as const, 'drags' as const) }),
)

/** One in so many goes wrong, or has what may make it so. */
function rarely<T>(troubled: boolean, one: fc.Arbitrary<T>, other: fc.Arbitrary<T>) {
  return troubled ? fc.oneof({ weight: 8, arbitrary: other }, { weight: 1, arbitrary: one }) : other
}

function workOf(troubled: boolean): fc.Arbitrary<(name: string) => WorkSpec> {
  const end = rarely(troubled, bad, good)
  const body = fc
    .record({ do: fc.constantFrom('step' as const, 'activity' as const), ms, end, queued })
    .map((work) => () => work)
  const each = fc
    .record({
      ms,
      end,
      queued,
      items: fc.nat(6),
      parallel: fc.constantFrom(undefined, 1, 2, 3),
    })
    .map(({ parallel, ...work }) => () => ({
      do: 'each' as const,
      ...work,
      ...(parallel !== undefined && { parallel }),
    }))
  const child = fc
    .record({
      style: fc.constantFrom('function' as const, 'graph' as const),
      ms,
      fails: rarely(troubled, fc.constant(true), fc.constant(false)),
    })
    .map((work) => () => ({ do: 'child' as const, ...work }))
  return fc.oneof(
    { weight: 9, arbitrary: body },
    { weight: 2, arbitrary: each },
    { weight: 1, arbitrary: child },
    { weight: 1, arbitrary: wait },
  )
}

// Before it is waited for, about then, or long after. Nobody waits for ever for what never comes.
const wait: fc.Arbitrary<(name: string) => WorkSpec> = fc
  .record({
    shared: fc.boolean(),
    comesMs: fc.constantFrom(undefined, 0, 10, 80, 3_000),
    timeoutMs: fc.constantFrom(undefined, 5, 40, 1_000),
  })
  .map(({ shared, comesMs, timeoutMs }) => (name) => ({
    do: 'wait' as const,
    signal: shared && comesMs !== undefined ? 'shared' : `to ${name}`,
    ...(comesMs !== undefined && { comesMs }),
    ...(timeoutMs !== undefined ? { timeoutMs } : comesMs === undefined ? { timeoutMs: 30 } : {}),
  }))

const draftOf = (troubled: boolean): fc.Arbitrary<Draft> =>
  fc.record({
    parents: fc.array(fc.nat(10_000), { maxLength: 4, size: 'max' }),
    rule: fc.oneof(
      { weight: 3, arbitrary: fc.constant('allSucceeded' as const) },
      { weight: 2, arbitrary: fc.constantFrom(...RULES) },
    ),
    when: fc.oneof(
      { weight: 8, arbitrary: often },
      {
        weight: 2,
        arbitrary: rarely<Condition>(
          troubled,
          fc.constant('throws'),
          fc.constantFrom<Condition[]>('input', 'results', 'results', 'fickle'),
        ),
      },
    ),
    delayMs: fc.oneof({ weight: 6, arbitrary: often }, { weight: 1, arbitrary: fc.constantFrom(0, 10, 90) }),
    work: workOf(troubled),
    undo: fc.oneof(
      { weight: 3, arbitrary: often },
      {
        weight: 2,
        arbitrary: fc.record({
          works: fc.constantFrom(true, true, true, false),
          ownFailure: fc.boolean(),
        }),
      },
    ),
  })

const size = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 1, arbitrary: fc.integer({ min: 12, max: 40 }) },
)

/** Graphs of 1 to 40 steps. In about half of them something may go wrong. */
export const graphs: fc.Arbitrary<GraphSpec> = fc
  .record({ troubled: fc.boolean(), count: size })
  .chain(({ troubled, count }) =>
    fc.record({
      input: fc.nat(1_000),
      // So many steps in each layer; 0: any step may come after any other.
      width: fc.constantFrom(0, 0, 1, 2, 3, 5, 8),
      drafts: fc.array(draftOf(troubled), { minLength: count, maxLength: count, size: 'max' }),
      output: rarely<GraphSpec['output']>(troubled, fc.constant('throws'), fc.constantFrom('results', 'count')),
      cancelMs: troubled ? fc.constantFrom(undefined, undefined, undefined, 0, 30, 200) : fc.constant(undefined),
      again: troubled ? fc.constantFrom(undefined, 'healed' as const, 'better' as const) : fc.constant(undefined),
    }),
  )
  .map(({ input, width, drafts, output, cancelMs, again }) => ({
    input,
    steps: drafts.map((draft, index) => stepOf(draft, index, width)),
    output,
    ...(cancelMs !== undefined && { cancelMs }),
    ...(again !== undefined && { again }),
  }))

function stepOf(draft: Draft, index: number, width: number): StepSpec {
  const { rule, when, delayMs, undo } = draft
  const name = `s${index}`
  const work = draft.work(name)
  const after = [...new Set(draft.parents.flatMap((each) => parentOf(each, index, width)))]
  // A wait has neither rule nor condition, and what comes after nothing needs no one of it.
  const plain = work.do === 'wait'
  return {
    name,
    after: after.map((each) => `s${each}`),
    rule: plain || (after.length === 0 && rule.startsWith('one')) ? 'allSucceeded' : rule,
    work,
    ...(when && !plain && { when }),
    ...(delayMs !== undefined && !plain && { delayMs }),
    ...(undo && { undo }),
  }
}

function parentOf(draw: number, index: number, width: number): number[] {
  if (width === 0) return index === 0 ? [] : [draw % index]
  const layer = Math.floor(index / width)
  return layer === 0 ? [] : [(layer - 1) * width + (draw % width)]
}

/** The graphs of a seed. */
export function graphsOf(seed: number, count: number): readonly GraphSpec[] {
  return fc.sample(graphs, { seed, numRuns: count })
}
