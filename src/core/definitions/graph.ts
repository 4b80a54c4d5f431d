// Graphs in code: steps with names, each after others. Results add up in the type, so that a step sees those of the steps it
// comes after, and no others.

import {
  checkOptions,
  choice,
  type Description,
  duration,
  flag,
  fn,
  required,
  strings,
  whole,
} from '../base/described.ts'
import { digest } from '../base/digest.ts'
import { milliseconds } from '../base/duration.ts'
import { PawlError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { nearest } from '../base/nearest.ts'
import type { AnyActivityContract, AnyWorkflowContract } from './contract.ts'
import { withScope } from './graph-context.ts'
import { type GraphNode, type GraphPlan, type GraphScope, RULES, type Work } from './graph-plan.ts'
import { shapeHash, shapeOf } from './graph-shape.ts'
import type { Graph, GraphStepOptions } from './graph-types.ts'
import {
  type ActivityOptions,
  activityOptions,
  type WorkflowOptions,
  workflowOptions,
} from './options.ts'
import type { RegisteredActivity } from './registry.ts'
import { type AnySchema, type KnownSchemas, type Schema, schemasIn } from './schema.ts'

type AnyFunction = (...args: never[]) => unknown
type Options = Partial<GraphStepOptions<never, never, never, never, never>> & {
  readonly over?: AnyFunction
  readonly parallel?: number
}

interface Draft {
  readonly name: string
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
  readonly nodes: ReadonlyMap<string, GraphNode>
  readonly activities: readonly RegisteredActivity[]
  /** The text of everything that is code in it. */
  readonly code: readonly string[]
  readonly output?: (scope: GraphScope) => unknown
}

/** A graph, as far as it is written. Every call gives another one. */
class GraphDefinition {
  readonly is = 'workflow'
  readonly style = 'graph'
  readonly name: string
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
  readonly activities: readonly RegisteredActivity[]
  readonly #draft: Draft
  readonly #last: string | undefined
  #plan: GraphPlan | undefined

  constructor(draft: Draft, last?: string) {
    this.name = draft.name
    this.options = draft.options
    this.schemas = draft.schemas
    this.activities = draft.activities
    this.#draft = draft
    this.#last = last
  }

  get plan(): GraphPlan {
    this.#plan ??= planOf(this.#draft)
    return this.#plan
  }

  get definitionHash(): string {
    return this.plan.hash
  }

  get codeHash(): string {
    return digest([this.plan.hash, ...this.#draft.code].join('\n'))
  }

  step(name: string, first: Options | AnyFunction, second?: AnyFunction): GraphDefinition {
    const [options, body] = typeof first === 'function' ? [{}, first] : [first, second]
    const handler = this.#function(body, `step '${name}'`)
    this.#checkOptions('step', options, `step '${name}'`)
    return this.#add(name, options, this.#own(name, options, handler), [handler])
  }

  each(name: string, options: Options, body: AnyFunction): GraphDefinition {
    const handler = this.#function(body, `step '${name}'`)
    this.#checkOptions('each', options, `step '${name}'`)
    return this.#add(name, options, this.#own(name, options, handler), [handler])
  }

  run(
    name: string,
    options: Options,
    definition: AnyActivityContract | AnyWorkflowContract,
    makeInput: AnyFunction,
  ): GraphDefinition {
    const input = this.#function(makeInput, `the input of step '${name}'`) as (
      scope: GraphScope,
    ) => unknown
    const known = definition as
      | { is?: string; name?: string; options?: ActivityOptions }
      | undefined
    this.#checkOptions('step', options, `step '${name}'`)
    const own = { ...known?.options, ...apart(options).activity }
    if (known?.is === 'activity' && known.name !== undefined) {
      const work: Work = { type: 'activity', activity: known.name, options: own, input }
      return this.#add(name, options, work, [input])
    }
    if (known?.is !== 'workflow' || known.name === undefined)
      throw invalid(
        this.name,
        `step '${name}' is to run an activity or a workflow, and was given neither`,
      )
    return this.#add(name, options, { type: 'child', workflow: known.name, options: own, input }, [
      input,
    ])
  }

  wait(
    name: string,
    options: Options & { readonly timeout?: Parameters<typeof milliseconds>[0] },
    signal: { readonly is: string; readonly name: string },
  ): GraphDefinition {
    if (signal?.is !== 'signal')
      throw invalid(this.name, `step '${name}' is to wait for a signal, and was given none`)
    this.#checkOptions('wait', options, `step '${name}'`)
    const { timeout } = options
    const timeoutMs = timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, 'timeout') }
    return this.#add(name, options, { type: 'wait', signal: signal.name, ...timeoutMs }, [])
  }

  compensate(
    first: (ActivityOptions & { readonly ownFailure?: boolean }) | AnyFunction,
    second?: AnyFunction,
  ): GraphDefinition {
    const [options, given] = typeof first === 'function' ? [{}, first] : [first, second]
    const node = this.#draft.nodes.get(this.#last ?? '')
    if (!node) throw invalid(this.name, '.compensate() comes right after the step that it undoes')
    const body = this.#function(given, `what undoes step '${node.name}'`)
    this.#checkOptions('compensate', options, `what undoes step '${node.name}'`)
    const { ownFailure, ...undoOptions } = options
    if (undoOptions.queue !== undefined)
      throw invalid(
        this.name,
        `what undoes step '${node.name}' runs where the run is, and has no queue`,
      )
    const undo = {
      options: undoOptions,
      body: body as never,
      ...(ownFailure && { ownFailure: true as const }),
    }
    const nodes = new Map(this.#draft.nodes).set(node.name, { ...node, undo })
    return new GraphDefinition({ ...this.#draft, nodes, code: [...this.#draft.code, String(body)] })
  }

  output(given: AnyFunction): GraphDefinition {
    const output = this.#function(given, '.output()') as (scope: GraphScope) => unknown
    return new GraphDefinition({
      ...this.#draft,
      output,
      code: [...this.#draft.code, String(output)],
    })
  }

  #add(name: string, options: Options, work: Work, code: readonly AnyFunction[]): GraphDefinition {
    const { nodes, activities } = this.#draft
    const node = this.#node(checkName(name, 'the name of a step'), options, work)
    const texts = [...code, options.when, options.over].filter((each) => each !== undefined)
    const own = work.type === 'activity' && work.own ? [ownActivity(work, code[0])] : []
    const next = {
      ...this.#draft,
      nodes: new Map(nodes).set(name, node),
      activities: [...activities, ...own],
      code: [...this.#draft.code, ...texts.map(String)],
    }
    return new GraphDefinition(next, name)
  }

  #node(name: string, options: Options, work: Work): GraphNode {
    const { nodes } = this.#draft
    const { when, delay, over, parallel, rule = 'allSucceeded' } = options
    const after = [...new Set<string>(options.after ?? [])]
    if (nodes.has(name))
      throw invalid(this.name, `there are two steps '${name}': give one of them another name`)
    for (const parent of after) {
      if (!nodes.has(parent))
        throw invalid(
          this.name,
          `step '${name}' comes after '${parent}', and there is no such step before it${meant(parent, nodes.keys())}`,
        )
    }
    if (rule.startsWith('one') && after.length === 0)
      throw invalid(
        this.name,
        `step '${name}' comes after nothing, so its rule '${rule}' could never hold`,
      )
    return {
      name,
      after,
      rule,
      sees: after,
      work,
      ...(when && { when: when as never }),
      ...(delay !== undefined && { delayMs: milliseconds(delay, 'delay') }),
      ...(over && { each: { over: over as never, ...(parallel !== undefined && { parallel }) } }),
    }
  }

  #checkOptions(method: Method, options: unknown, of: string): void {
    const code = 'DEFINITION_INVALID'
    checkOptions(graphOptions[method], options, { of: `${of} of graph '${this.name}'`, code })
  }

  // With a queue it is for whoever takes it from there; otherwise it runs where the run is.
  #own(name: string, options: Options, body: AnyFunction): Work {
    const { activity } = apart(options)
    if (activity.queue === undefined)
      return { type: 'step', options: activity, body: body as never }
    const input = (scope: GraphScope): unknown => scope
    return {
      type: 'activity',
      activity: `${this.name}:${name}`,
      options: activity,
      input,
      own: true,
    }
  }

  #function(given: unknown, what: string): AnyFunction {
    if (typeof given === 'function') return given as AnyFunction
    throw invalid(this.name, `${what} is no function`)
  }
}

/** What a step may say besides what every activity may; it is looked at when the step is added. */
const after = strings('The steps it comes after.', 'a list of names of steps')
const placed = {
  after,
  rule: choice('When it may begin, by what became of those.', RULES, {
    otherwise: "'allSucceeded'",
  }),
  when: fn<unknown>('It is skipped if this gives false.'),
  delay: duration('How long it waits once it may begin.'),
  ...activityOptions,
} as const

type Method = 'step' | 'each' | 'wait' | 'compensate'

/** What the steps of a graph take, by the method that adds them. */
export const graphOptions: Readonly<Record<Method, Description>> = {
  step: placed,
  each: {
    ...placed,
    over: required(fn<unknown>('Gives the list that it is done for.')),
    parallel: whole('How many at once.', [1, Number.MAX_SAFE_INTEGER], { otherwise: 'all' }),
  },
  wait: { after, timeout: duration('How long it waits at most.') },
  compensate: {
    ...activityOptions,
    ownFailure: flag('It is also undone if the step itself failed.', { otherwise: 'false' }),
  },
}

/** What a step has of its own, and what every activity has. */
function apart(options: Options): { readonly activity: ActivityOptions } {
  const {
    after: _,
    rule: __,
    when: ___,
    delay: ____,
    over: _____,
    parallel: ______,
    ...rest
  } = options
  return { activity: rest }
}

function ownActivity(
  { activity, options }: Extract<Work, { type: 'activity' }>,
  body: AnyFunction | undefined,
): RegisteredActivity {
  const call = body as ((ctx: object) => unknown) | undefined
  return {
    name: activity,
    options,
    handler: async (scope, ctx) => call?.(withScope(ctx, scope as GraphScope)),
  }
}

function planOf({ name, nodes, output }: Draft): GraphPlan {
  const shapes = [...nodes.values()].map(shapeOf)
  return { name, hash: shapeHash(shapes), shapes, nodes, ...(output && { output }) }
}

function meant(name: string, steps: Iterable<string>): string {
  const near = nearest(name, steps)
  return near === undefined ? ': write that one first' : ` (did you mean '${near}'?)`
}

function invalid(graph: string, problem: string): PawlError {
  return new PawlError('DEFINITION_INVALID', `graph '${graph}': ${problem}.`)
}

export interface DefineGraph {
  <In = void>(name: string): Graph<In, {}>
  <In>(
    name: string,
    options: WorkflowOptions & { readonly input: Schema<In, unknown> },
  ): Graph<In, {}>
}

function define(
  name: string,
  given: WorkflowOptions & { readonly input?: AnySchema } = {},
): GraphDefinition {
  checkName(name, 'the name of a graph')
  const { options, schemas } = schemasIn(given, `graph '${name}'`, workflowOptions)
  return new GraphDefinition({ name, options, schemas, nodes: new Map(), activities: [], code: [] })
}

/** Defines a graph: `graph<Input>('order').step('reserve', …).step('ship', { after: ['reserve'] }, …)`. */
export const defineGraph = define as unknown as DefineGraph

export type { Graph, GraphContext, GraphStep, GraphStepOptions, Skipped } from './graph-types.ts'
