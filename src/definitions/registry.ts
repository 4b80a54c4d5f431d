// The definitions a process has code for, by exact name. Types are erased here and in the codec, nowhere else.
import { digest } from '../kernel/digest.ts'
import { PawlError } from '../kernel/errors.ts'
import type { AnyActivity } from './activity.ts'
import type { Context } from './context.ts'
import type { ActivityContext } from './contract.ts'
import type { ActivityOptions, WorkflowOptions } from './options.ts'
import type { AnyWorkflow } from './workflow.ts'

export interface RegisteredWorkflow {
  readonly name: string
  readonly options: WorkflowOptions
  readonly definitionHash: string
  readonly handler: (ctx: Context, input: unknown) => Promise<unknown>
}

export interface RegisteredActivity {
  readonly name: string
  readonly options: ActivityOptions
  readonly handler: (input: unknown, ctx: ActivityContext) => Promise<unknown>
}

export class Registry {
  readonly workflows: ReadonlyMap<string, RegisteredWorkflow>
  readonly activities: ReadonlyMap<string, RegisteredActivity>
  /** Changes whenever a workflow's code does: the default name of a build. */
  readonly fingerprint: string

  constructor(workflows: readonly AnyWorkflow[], activities: readonly AnyActivity[]) {
    for (const each of workflows) refuseForeign(each, 'workflow', 'workflows')
    for (const each of activities) refuseForeign(each, 'activity', 'activities')
    this.workflows = byName(workflows as unknown as readonly RegisteredWorkflow[], 'workflow')
    this.activities = byName(activities as unknown as readonly RegisteredActivity[], 'activity')
    const hashes = [...this.workflows.values()].map((each) => each.definitionHash)
    this.fingerprint = digest(hashes.sort().join('\n'))
  }
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

function refuseForeign(definition: unknown, is: 'workflow' | 'activity', option: string): void {
  const given = definition as { is?: unknown; handler?: unknown; name?: unknown } | null | undefined
  if (given?.is === is && typeof given.handler === 'function') return
  const named = typeof given?.name === 'string' ? ` ('${given.name}')` : ''
  const why =
    given?.is === is ? 'is a contract without code; pass what .implement(…) returns' : `is no ${is}`
  throw new PawlError('DEFINITION_INVALID', `an element of \`${option}\`${named} ${why}.`)
}
