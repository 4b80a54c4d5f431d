// An activity that is started on its own: a run of one step, for every worker that has the activity's code.
import type { Startable, WorkflowContract } from './contract.ts'
import type { ActivityOptions, WorkflowOptions } from './options.ts'

const PREFIX = 'activity:'

/** Whether runs of this name are those of activities that were started on their own. */
export function isStandalone(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** What the runs of a definition are called. */
export function runNameOf(definition: Pick<Startable<never, unknown>, 'is' | 'name'>): string {
  return definition?.is === 'activity' ? `${PREFIX}${definition.name}` : definition?.name
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
