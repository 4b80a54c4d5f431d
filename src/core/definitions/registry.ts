// The definitions a process has code for, by exact name, and at most one of each kind for all other names. Types are erased here and in the codec, nowhere else.

import type { Description } from '../base/described.ts'
import { digest } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import type { AnyActivity } from './activity.ts'
import type { Context } from './context.ts'
import type { ActivityContext, AnyActivityContract } from './contract.ts'
import type { KnownActivities } from './graph-document.ts'
import type { GraphPlan } from './graph-plan.ts'
import type { MachinePlan } from './machine-plan.ts'
import type { ActivityOptions, WorkflowOptions } from './options.ts'
import type { KnownSchemas } from './schema.ts'
import { isStandalone, runNameOf } from './standalone.ts'
import type { AnyWorkflow } from './workflow.ts'

/** A workflow, with what its style runs it by. */
export type RegisteredWorkflow = RegisteredFunction | RegisteredGraph | RegisteredMachine

interface Registered {
  readonly name: string
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
  readonly definitionHash: string
  /** Changes with any of its code; the definition hash when absent. */
  readonly codeHash?: string
}

export interface RegisteredFunction extends Registered {
  readonly style: 'function'
  readonly handler: (ctx: Context, input: unknown) => Promise<unknown>
}

export interface RegisteredGraph extends Registered {
  readonly style: 'graph'
  readonly plan: GraphPlan
  /** Of a definition that is kept in the store. */
  readonly version?: number
  /** Those of its steps that are done by whoever takes them from a queue. */
  readonly activities: readonly RegisteredActivity[]
}

export interface RegisteredMachine extends Registered {
  readonly style: 'machine'
  readonly machine: MachinePlan
}

export interface RegisteredActivity {
  readonly name: string
  readonly '~input'?: Description
  readonly options: ActivityOptions
  readonly handler: (input: unknown, ctx: ActivityContext) => Promise<unknown>
}

export class Registry {
  readonly workflows: ReadonlyMap<string, RegisteredWorkflow>
  readonly activities: ReadonlyMap<string, RegisteredActivity>
  readonly #anyWorkflow: RegisteredWorkflow | undefined
  readonly #anyActivity: DynamicActivity | undefined
  /** Changes whenever a workflow's code does: the default name of a build. */
  readonly fingerprint: string

  /** `own` are workflows of pawl's: every process has them, and they are no part of what users deploy. */
  constructor(
    workflows: readonly AnyWorkflow[],
    activities: readonly AnyActivity[],
    own: readonly AnyWorkflow[] = [],
  ) {
    for (const { name } of workflows) refuseReserved(name)
    for (const each of workflows) refuseForeign(each, 'workflow', 'workflows')
    for (const each of activities) refuseForeign(each, 'activity', 'activities')
    const [named, any] = apart(workflows as unknown as readonly RegisteredWorkflow[], 'workflow')
    const [known, others] = apart(
      activities as unknown as readonly RegisteredActivity[],
      'activity',
    )
    const all = byName(named, 'workflow')
    const hashes = [...all.values(), ...(any ? [any] : [])].map(
      (each) => each.codeHash ?? each.definitionHash,
    )
    const ofGraphs = named.flatMap((each) => (each.style === 'graph' ? each.activities : []))
    this.fingerprint = digest(hashes.sort().join('\n'))
    for (const each of own) all.set(each.name, each as unknown as RegisteredWorkflow)
    this.activities = byName([...known, ...ofGraphs], 'activity')
    for (const each of this.activities.values()) {
      const alone = standalone(each)
      all.set(alone.name, alone)
    }
    this.workflows = all
    this.#anyWorkflow = any
    this.#anyActivity = others as DynamicActivity | undefined
  }

  /** The code for a name: its own, or the one for all others. */
  workflow(name: string): RegisteredWorkflow | undefined {
    const any = this.#anyWorkflow
    return this.workflows.get(name) ?? (any && { ...any, name })
  }

  activity(name: string): RegisteredActivity | undefined {
    const known = this.activities.get(name)
    const any = this.#anyActivity
    if (known || !any) return known
    return {
      name,
      options: any.options,
      handler: async (input, ctx) => any.handler(name, input, ctx),
    }
  }

  /** The names to ask for; `null` is any. */
  get workflowNames(): readonly string[] | null {
    return this.#anyWorkflow ? null : [...this.workflows.keys()]
  }

  /** The activities a submitted graph may call; undefined if any name may be called. */
  get knownActivities(): KnownActivities | undefined {
    if (this.#anyActivity) return undefined
    return new Map([...this.activities].map(([name, each]) => [name, each['~input']]))
  }

  get activityNames(): readonly string[] | null {
    return this.#anyActivity ? null : [...this.activities.keys()]
  }
}

/** Answers for every name: the name comes first. */
interface DynamicActivity {
  readonly options: ActivityOptions
  readonly handler: (name: string, input: unknown, ctx: ActivityContext) => unknown
}

function apart<T extends object>(
  definitions: readonly T[],
  what: string,
): readonly [readonly T[], T | undefined] {
  const dynamic = definitions.filter((each) => 'dynamic' in each)
  if (dynamic.length > 1) {
    throw new PawlError(
      'DEFINITION_CONFLICT',
      `there is more than one ${what}.dynamic; one answers for all names.`,
    )
  }
  return [definitions.filter((each) => !('dynamic' in each)), dynamic[0]]
}

function byName<T extends { readonly name: string }>(
  definitions: readonly T[],
  what: string,
): Map<string, T> {
  const found = new Map<string, T>()
  for (const definition of definitions) {
    const other = found.get(definition.name)
    if (other && other !== definition) {
      throw new PawlError(
        'DEFINITION_CONFLICT',
        `two definitions share the name of ${what} '${definition.name}'. Names are how runs find their code: rename one of them.`,
      )
    }
    found.set(definition.name, definition)
  }
  return found
}

/** The code of an activity that is started on its own. */
function standalone(activity: RegisteredActivity): RegisteredFunction {
  const name = runNameOf({ is: 'activity', name: activity.name })
  const contract = { ...activity, is: 'activity' } as unknown as AnyActivityContract
  return {
    style: 'function',
    name,
    // Tasks know no builds, and neither does this.
    options: { pin: false },
    schemas: {},
    definitionHash: digest(name),
    handler: (ctx, input) => ctx.run(contract, input as never),
  }
}

function refuseReserved(name: unknown): void {
  if (typeof name !== 'string' || !(name.startsWith('pawl.') || isStandalone(name))) return
  const message = `the name of workflow '${name}' begins with 'pawl.' or 'activity:', which are reserved. Choose another.`
  throw new PawlError('DEFINITION_INVALID', message)
}

function refuseForeign(definition: unknown, is: 'workflow' | 'activity', option: string): void {
  const given = definition as { is?: unknown; name?: unknown } | null | undefined
  if (given?.is === is && hasCode(given)) return
  const named = typeof given?.name === 'string' ? ` ('${given.name}')` : ''
  const why =
    given?.is === is ? 'is a contract without code; pass what .implement(…) returns' : `is no ${is}`
  throw new PawlError('DEFINITION_INVALID', `an element of \`${option}\`${named} ${why}.`)
}

/** Whether a definition can be run, and is not only a contract. */
export function hasCode(definition: object): boolean {
  return ['handler', 'plan', 'machine'].some((part) => part in definition)
}
