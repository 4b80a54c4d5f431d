// Names of workflows that pawl itself defines: schedules, and activities that are started on their own.

import { defined } from '../base/defined.ts'
import type { Startable, WorkflowContract } from './contract.ts'
import type { ActivityOptions, WorkflowOptions } from './options.ts'

// Schedules, batches and the retention are pawl's own runs, so operations on all runs leave them out.

/** The workflow whose runs are schedules. */
export const SCHEDULE = 'pawl.schedule'
/** The workflow whose runs are batches with a kept preview. */
export const BATCH = 'pawl.batch'
/** The workflow whose run deletes runs that ended long ago. */
export const RETENTION = 'pawl.retention'
export const OWN_WORKFLOWS = [SCHEDULE, BATCH, RETENTION] as const

// Standalone activities: an activity that is started on its own is a run of one step, which any worker with the code of
// the activity can claim.

const PREFIX = 'activity:'

/** True if this is the workflow name of a standalone activity. */
export function isStandalone(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** The workflow name of the runs of a definition. */
export function runNameOf(definition: Pick<Startable<never, unknown>, 'is' | 'name'>): string {
  return definition?.is === 'activity' ? `${PREFIX}${definition.name}` : definition?.name
}

/** The workflow that a definition is started as. */
export function startedAs<In, Out>(
  definition: Startable<In, Out> & { readonly options?: ActivityOptions },
): WorkflowContract<In, Out> & { readonly options?: WorkflowOptions } {
  if (definition?.is !== 'activity') return definition as WorkflowContract<In, Out>
  const { queue, priority } = definition.options ?? {}
  const options = defined({ queue, priority })
  return { is: 'workflow', name: runNameOf(definition), options } as never
}
