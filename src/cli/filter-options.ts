// The options that choose runs, for every command that is about many.
import { type Command, Option } from 'commander'
import { defined } from '../core/base/defined.ts'
import type { AttributeScalar } from '../core/index.ts'
import type { RunFilter, Status } from '../index.ts'
import { parseFilter, repeated } from './options.ts'
import { statusStyles } from './output.ts'

export interface FilterOptions {
  readonly status?: readonly string[]
  readonly workflow?: string
  readonly workflowId?: string
  readonly attribute?: Readonly<Record<string, AttributeScalar>>
}

/** Adds the options that choose runs. */
export function withFilterOptions(command: Command): Command {
  return command
    .addOption(statusOption())
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--workflow-id <id>', 'only runs of this workflow id')
    .option(
      '--attribute <name=value>',
      'only runs with this attribute, or with a list that contains it (repeatable)',
      parseFilter,
    )
}

// The client refuses other statuses; the choices are for the help and for completion.
function statusOption(): Option {
  const option = new Option('--status <status>', 'only runs of this status (repeatable)')
  return option.choices(Object.keys(statusStyles)).argParser(repeated)
}

export function filterOf({
  status,
  workflow,
  workflowId,
  attribute,
}: FilterOptions): Omit<RunFilter, 'workflow'> & { readonly workflow?: string } {
  return defined({
    // The client checks the status.
    status: status as readonly Status[] | undefined,
    workflow,
    workflowId,
    attributes: attribute,
  })
}

/** Whether the options leave any run out. */
export function isNarrowed({ status, workflow, workflowId, attribute }: FilterOptions): boolean {
  return [status, workflow, workflowId, attribute].some((each) => each !== undefined)
}
