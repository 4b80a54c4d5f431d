// Graphs written in code: named steps, each after others. The type of the graph collects the results, so that a step
// sees the results of the steps it comes after, and no others.

import { defined } from '../base/defined.ts'
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
import { PawlError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { nearest } from '../base/nearest.ts'
import { milliseconds, optionalMs } from '../base/time.ts'
import type { AnyActivityContract, AnyWorkflowContract } from './contract.ts'
import { type GraphNode, type GraphPlan, type GraphScope, RULES, shapeHash, shapeOf, type Work } from './graph-plan.ts'
import { type Graph, type GraphStepOptions, withScope } from './graph-types.ts'
import { type ActivityOptions, activityOptions, type WorkflowOptions, workflowOptions } from './options.ts'
import type { RegisteredActivity } from './registry.ts'
import { type AnySchema, type KnownSchemas, type Schema } from './schema.ts'
import { schemasIn } from './schema-options.ts'

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
  /** The text of all functions in the graph. */
  readonly code: readonly string[]
  readonly output?: (scope: GraphScope) => unknown
}

/** A graph under construction. Every call returns a new one. */
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
    const input = this.#function(makeInput, `the input of step '${name}'`) as (scope: GraphScope) => unknown
    const known = definition as { is?: string; name?: string; options?: ActivityOptions } | undefined
    this.#checkOptions('step', options, `step '${name}'`)
    const own = { ...known?.options, ...apart(options).activity }
    if (known?.is === 'activity' && known.name !== undefined) {
      const work: Work = { type: 'activity', activity: known.name, options: own, input }
      return this.#add(name, options, work, [input])
    }
    if (known?.is !== 'workflow' || known.name === undefined)
      throw invalid(
        this.name,
        `step '${name}' has no definition; expected an activity or a workflow as the third argument of .run()`,
      )
    return this.#add(name, options, { type: 'child', workflow: known.name, options: own, input }, [input])
  }

  wait(
    name: string,
    options: Options & { readonly timeout?: Parameters<typeof milliseconds>[0] },
    signal: { readonly is: string; readonly name: string },
  ): GraphDefinition {
    if (signal?.is !== 'signal')
      throw invalid(this.name, `step '${name}' has no signal; expected one as the third argument of .wait()`)
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
    if (!node)
      throw invalid(this.name, '.compensate() does not follow a step; write it right after the step that it undoes')
    const what = `the compensation of step '${node.name}'`
    const body = this.#function(given, what)
    this.#checkOptions('compensate', options, what)
    const { ownFailure, ...undoOptions } = options
    if (undoOptions.queue !== undefined)
      throw invalid(this.name, `${what} has a queue, but it runs on the worker that holds the run; remove the queue`)
    const undo = defined({
      options: undoOptions,
      body: body as never,
      ownFailure: ownFailure || undefined,
    })
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
    if (nodes.has(name)) throw invalid(this.name, `there are two steps '${name}'; rename one of them`)
    for (const parent of after) {
      if (!nodes.has(parent))
        throw invalid(
          this.name,
          `step '${name}' comes after '${parent}', but no step before it has that name${meant(parent, nodes.keys())}`,
        )
    }
    if (rule.startsWith('one') && after.length === 0)
      throw invalid(
        this.name,
        `step '${name}' has the rule '${rule}' but no \`after\`, so it could never start; list the steps before it`,
      )
    return defined({
      ...{ name, after, rule, sees: after, work },
      when: when as GraphNode['when'],
      delayMs: optionalMs(delay, 'delay'),
      each: over && defined({ over: over as never, parallel }),
    })
  }

  #checkOptions(method: Method, options: unknown, of: string): void {
    const code = 'DEFINITION_INVALID'
    checkOptions(graphOptions[method], options, { of: `${of} of graph '${this.name}'`, code })
  }

  // With a queue the step becomes a task of that queue; without one it runs on the worker that holds the run.
  #own(name: string, options: Options, body: AnyFunction): Work {
    const { activity } = apart(options)
    if (activity.queue === undefined) return { type: 'step', options: activity, body: body as never }
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
    throw invalid(this.name, `${what} is not a function; expected (ctx) => …`)
  }
}

const after = strings('The steps it comes after.', 'a list of names of steps')
const placed = {
  after,
  rule: choice('When it may start, by the outcomes of the steps it comes after.', RULES, {
    otherwise: "'allSucceeded'",
  }),
  when: fn<unknown>('The step is skipped if this returns false.'),
  delay: duration('Pause before it starts, once it may start.'),
  ...activityOptions,
} as const

type Method = 'step' | 'each' | 'wait' | 'compensate'

/** The options of the steps of a graph, by the method that adds them. */
export const graphOptions: Readonly<Record<Method, Description>> = {
  step: placed,
  each: {
    ...placed,
    over: required(fn<unknown>('Returns the list of items.')),
    parallel: whole('How many items are processed at once.', [1, Number.MAX_SAFE_INTEGER], {
      otherwise: 'all',
    }),
  },
  wait: { after, timeout: duration('Longest wait; the result is then `TIMEOUT`.') },
  compensate: {
    ...activityOptions,
    ownFailure: flag('Whether it also runs if the step itself failed.', { otherwise: 'false' }),
  },
}

/** The options that every activity has, without those of graph steps. */
function apart(options: Options): { readonly activity: ActivityOptions } {
  const { after: _, rule: __, when: ___, delay: ____, over: _____, parallel: ______, ...rest } = options
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
  return defined({ name, hash: shapeHash(shapes), shapes, nodes, output })
}

function meant(name: string, steps: Iterable<string>): string {
  const near = nearest(name, steps)
  return near === undefined ? '; add that step first' : `; did you mean '${near}'?`
}

function invalid(graph: string, problem: string): PawlError {
  const end = problem.endsWith('?') ? '' : '.'
  return new PawlError('DEFINITION_INVALID', `graph '${graph}': ${problem}${end}`)
}

export interface DefineGraph {
  <In = void>(name: string): Graph<In, {}>
  <In>(name: string, options: WorkflowOptions & { readonly input: Schema<In, unknown> }): Graph<In, {}>
}

function define(name: string, given: WorkflowOptions & { readonly input?: AnySchema } = {}): GraphDefinition {
  checkName(name, 'the name of a graph')
  const { options, schemas } = schemasIn(given, `graph '${name}'`, workflowOptions)
  return new GraphDefinition({ name, options, schemas, nodes: new Map(), activities: [], code: [] })
}

/** What `graph` does for graphs in code; graph documents are another layer's. */
export const defineGraph = define as unknown as DefineGraph

export type { Graph, GraphContext, GraphStep, GraphStepOptions, Skipped } from './graph-types.ts'
