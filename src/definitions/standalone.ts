// An activity that is started on its own: a run of one step, for every worker that has the activity's code.
import { checkName } from '../kernel/names.ts'
import type { Startable, WorkflowContract } from './contract.ts'
import type { ActivityOptions, WorkflowOptions } from './options.ts'

const PREFIX = 'activity:'

/** Whether runs of this name are those of activities that were started on their own. */
export function isStandalone(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** What the runs of a definition are called. */
export function runNameOf({ is, name }: Pick<Startable<never, unknown>, 'is' | 'name'>): string {
  return is === 'activity' ? checkName(`${PREFIX}${name}`, 'the name of a run') : name
}

/** The workflow that is started for a definition. */
export function startedAs<In, Out>(
  definition: Startable<In, Out> & { readonly options?: ActivityOptions },
): WorkflowContract<In, Out> & { readonly options?: WorkflowOptions } {
  if (definition?.is !== 'activity') return definition as WorkflowContract<In, Out>
  const { queue, priority } = definition.options ?? {}
  const options = {
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
  }
  return { is: 'workflow', name: runNameOf(definition), options } as never
}
