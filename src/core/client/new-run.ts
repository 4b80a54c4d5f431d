// New runs: from the input and options of a start to what the store creates.

import { defined } from '../base/defined.ts'
import { checkOptions } from '../base/described.ts'
import { deriveUuid, digestPayload } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { checkId, checkName } from '../base/names.ts'
import { encode } from '../base/value.ts'
import { storedAttributes } from '../definitions/attributes.ts'
import type { WorkflowContract } from '../definitions/contract.ts'
import type { WorkflowOptions } from '../definitions/options.ts'
import { checkPriority, timeouts } from '../definitions/plan.ts'
import { type KnownSchemas, parseInput } from '../definitions/schema.ts'
import { encodeMessage, encodePayload } from '../kernel/codec.ts'
import { encodeExtras } from '../kernel/extras.ts'
import type { NewRun, Reuse, StoredMessage } from '../stores/store.ts'
import { beginning, countedFrom, type StartOptions, startOptions } from './start-options.ts'
import { startedTrace } from './tracing.ts'

/** What the caller of a start may know about the workflow besides its name. */
export interface Known {
  readonly options?: WorkflowOptions
  readonly schemas?: KnownSchemas
  readonly version?: number
}

export async function newRun<In>(
  workflow: WorkflowContract<In, unknown> & Known,
  given: unknown,
  options: StartOptions,
  ports: { readonly newId: () => string; readonly reuse?: Reuse | undefined },
): Promise<NewRun> {
  if (workflow?.is !== 'workflow') {
    const other: unknown = workflow
    const byName = typeof other === 'string' ? ` To start by name, use start(workflow.declare('${other}'), …).` : ''
    const problem = 'the first argument of start is not a definition; expected a workflow or an activity'
    throw new PawlError('INPUT_INVALID', `${problem}.${byName}`)
  }
  const { name } = workflow
  checkOptions(startOptions, options, { of: `the start of '${name}'` })
  const parsed = await parseInput(workflow, given)
  const input = encode(parsed.input, `the input of workflow '${name}'`)
  const key = options.idempotencyKey
  const runId = key === undefined ? ports.newId() : keyedRunId(name, checkId(key, 'an idempotency key'))
  const { workflowId, memo, attributes, version = workflow.version } = options
  const reuse = options.reuse ?? ports.reuse ?? 'allow'
  const begins = beginning(options)
  const timed = timeouts({ ...workflow.options, ...options })
  const found = attributes && storedAttributes(attributes)
  const extras = encodeExtras(
    defined({
      attributes: found,
      memo: memo && encode(memo, 'the memo'),
      ...timed,
      ...(timed.executionTimeoutMs !== undefined && countedFrom(begins)),
      parsed: workflow.schemas?.input && true,
      pending: options.pending || undefined,
      trace: startedTrace(options),
      version,
    }),
  )
  const queue = options.queue ?? workflow.options?.queue ?? 'default'
  return defined({
    runId,
    name,
    queue: checkName(queue, 'the name of a queue'),
    priority: checkPriority(options.priority ?? workflow.options?.priority ?? 0),
    workflowId: workflowId === undefined ? runId : checkId(workflowId, 'a workflow id'),
    reuse,
    input: encodePayload(input),
    digest: digestPayload(input),
    extras,
    attributes: found,
    displaced: reuse === 'terminateRunning' ? roomFor(runId) : undefined,
    ...begins,
  })
}

/** The id of the run that starts with this idempotency key create. */
export function keyedRunId(workflow: string, key: string): string {
  return deriveUuid('key', workflow, key)
}

/** The message that terminates the run which the new one replaces. */
function roomFor(runId: string): StoredMessage {
  const id = `displaced:${runId}`
  const reason = `run ${runId} was started in its place`
  return { id, body: encodeMessage({ type: 'terminate', id, reason }) }
}
