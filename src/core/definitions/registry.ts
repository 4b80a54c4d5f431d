// The registry: the definitions that a process has code for, by exact name, and at most one dynamic definition of each
// kind for all other names. Types are erased only here and in the codec.

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
import { isStandalone, runNameOf } from './own-workflows.ts'
import type { KnownSchemas } from './schema.ts'
import type { AnyWorkflow } from './workflow.ts'

/** A workflow with its code, in the form that its style runs. */
export type RegisteredWorkflow = RegisteredFunction | RegisteredGraph | RegisteredMachine

interface Registered {
  readonly name: string
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
  readonly definitionHash: string
  /** Changes with any of its code. Default: the definition hash. */
  readonly codeHash?: string
}

export interface RegisteredFunction extends Registered {
  readonly style: 'function'
  readonly handler: (ctx: Context, input: unknown) => Promise<unknown>
}

export interface RegisteredGraph extends Registered {
  readonly style: 'graph'
  readonly plan: GraphPlan
  /** The version of a definition from the store. */
  readonly version?: number
  /** The steps that are tasks of a queue. */
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
  /** Changes whenever the code of a workflow changes. It is the default name of a build. */
  readonly fingerprint: string

  /** `own` are pawl's workflows: every process has them, and they are not part of the user's build. */
  constructor(workflows: readonly AnyWorkflow[], activities: readonly AnyActivity[], own: readonly AnyWorkflow[] = []) {
    for (const { name } of workflows) refuseReserved(name)
    for (const each of workflows) refuseForeign(each, 'workflow', 'workflows')
    for (const each of activities) refuseForeign(each, 'activity', 'activities')
    const [named, any] = apart(workflows as unknown as readonly RegisteredWorkflow[], 'workflow')
    const [known, others] = apart(activities as unknown as readonly RegisteredActivity[], 'activity')
    const all = byName(named, 'workflow')
    const hashes = [...all.values(), ...(any ? [any] : [])].map((each) => each.codeHash ?? each.definitionHash)
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

  /** The code for a name: its own definition, or the dynamic one. */
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

  /** The names to claim; `null` for any name. */
  get workflowNames(): readonly string[] | null {
    return this.#anyWorkflow ? null : [...this.workflows.keys()]
  }

  /** The activities that a submitted graph may call; undefined if it may call any name. */
  get knownActivities(): KnownActivities | undefined {
    if (this.#anyActivity) return undefined
    return new Map([...this.activities].map(([name, each]) => [name, each['~input']]))
  }

  get activityNames(): readonly string[] | null {
    return this.#anyActivity ? null : [...this.activities.keys()]
  }
}

/** The definition for all other names. Its handler gets the name first. */
interface DynamicActivity {
  readonly options: ActivityOptions
  readonly handler: (name: string, input: unknown, ctx: ActivityContext) => unknown
}

function apart<T extends object>(definitions: readonly T[], what: string): readonly [readonly T[], T | undefined] {
  const dynamic = definitions.filter((each) => 'dynamic' in each)
  if (dynamic.length > 1) {
    throw new PawlError(
      'DEFINITION_CONFLICT',
      `there are ${dynamic.length} ${what}.dynamic definitions; expected at most one, because it handles all names.`,
    )
  }
  return [definitions.filter((each) => !('dynamic' in each)), dynamic[0]]
}

function byName<T extends { readonly name: string }>(definitions: readonly T[], what: string): Map<string, T> {
  const found = new Map<string, T>()
  for (const definition of definitions) {
    const other = found.get(definition.name)
    if (other && other !== definition) {
      throw new PawlError(
        'DEFINITION_CONFLICT',
        `there are two definitions of ${what} '${definition.name}'. Runs find their code by name: rename one of them.`,
      )
    }
    found.set(definition.name, definition)
  }
  return found
}

/** The workflow of a standalone activity. */
function standalone(activity: RegisteredActivity): RegisteredFunction {
  const name = runNameOf({ is: 'activity', name: activity.name })
  const contract = { ...activity, is: 'activity' } as unknown as AnyActivityContract
  return {
    style: 'function',
    name,
    // Tasks are not pinned to builds, and neither is this run.
    options: { pin: false },
    schemas: {},
    definitionHash: digest(name),
    handler: (ctx, input) => ctx.run(contract, input as never),
  }
}

function refuseReserved(name: unknown): void {
  if (typeof name !== 'string' || !(name.startsWith('pawl.') || isStandalone(name))) return
  const message = `the name of workflow '${name}' has a reserved prefix ('pawl.' or 'activity:'). Choose another name.`
  throw new PawlError('DEFINITION_INVALID', message)
}

function refuseForeign(definition: unknown, is: 'workflow' | 'activity', option: string): void {
  const given = definition as { is?: unknown; name?: unknown } | null | undefined
  if (given?.is === is && hasCode(given)) return
  const named = typeof given?.name === 'string' ? ` ('${given.name}')` : ''
  const made = is === 'activity' ? 'activity(…)' : 'workflow(…), graph(…) or machine(…).on(…)'
  const why =
    given?.is === is
      ? 'is a contract without code; pass the result of .implement(…)'
      : `is not ${is === 'activity' ? 'an' : 'a'} ${is}; pass the result of ${made}`
  throw new PawlError('DEFINITION_INVALID', `an element of \`${option}\`${named} ${why}.`)
}

/** True if a definition has code; a contract has none. */
export function hasCode(definition: object): boolean {
  return ['handler', 'plan', 'machine'].some((part) => part in definition)
}
