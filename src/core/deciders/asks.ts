// From what user code passes to `ctx` to what is wanted of the run: checked, encoded, and under its key.

import { checkOptions } from '../base/described.ts'
import { digestPayload, isUuid } from '../base/digest.ts'
import { checkKnownId, checkKnownName } from '../base/names.ts'
import { encode } from '../base/value.ts'
import { storedAttributes } from '../definitions/attributes.ts'
import type { RunRef } from '../definitions/context.ts'
import type { AnyActivityContract, AnyWorkflowContract } from '../definitions/contract.ts'
import { checkPayloadNow, type Sent } from '../definitions/messages.ts'
import {
  type ActivityOptions,
  type ChildOptions,
  childOptions,
  type RunOptions,
  runReference,
  type WorkflowOptions,
} from '../definitions/options.ts'
import { type ActivityOf, activityPlan } from '../definitions/plan.ts'
import { checkPriority } from '../definitions/priority.ts'
import { timeouts } from '../definitions/timeouts.ts'
import type { RunStep, SendMessage, StartChild } from '../kernel/command.ts'
import type { StepPlan } from '../kernel/decider.ts'
import { misuse } from './function/misuse.ts'

type Unplaced<T> = Omit<T, 'after' | 'past'>

export function childAsk(
  key: string,
  workflow: AnyWorkflowContract & { readonly options?: WorkflowOptions },
  given: unknown,
  options: ChildOptions,
): Unplaced<StartChild> {
  const { name } = workflow
  checkOptions(childOptions, options, { of: `child '${name}'` })
  const { workflowId, attributes, memo, parentClose } = options
  const input = encode(given, `the input of child workflow '${name}'`)
  const queue = options.queue ?? workflow.options?.queue
  const priority = options.priority ?? workflow.options?.priority
  const extras = {
    ...timeouts({ ...workflow.options, ...options }),
    ...(memo && { memo: encode(memo, 'the memo') }),
  }
  return {
    type: 'StartChild',
    key,
    name,
    input,
    digest: digestPayload(input),
    ...(queue !== undefined && { queue: checkKnownName(queue, 'the name of a queue') }),
    ...(priority !== undefined && { priority: checkPriority(priority) }),
    ...(workflowId !== undefined && { workflowId: checkKnownId(workflowId, 'a workflow id') }),
    ...(parentClose && parentClose !== 'cancel' && { onClose: parentClose }),
    ...(options.onCancel === 'wait' && { onCancel: 'wait' as const }),
    ...(attributes && { attributes: storedAttributes(attributes) }),
    ...(Object.keys(extras).length > 0 && { extras }),
  }
}

export function activityAsk(
  key: string,
  activity: AnyActivityContract & { readonly options?: ActivityOptions },
  given: unknown,
  options: RunOptions,
  activities: ActivityOf,
): { wanted: Unplaced<RunStep>; plan: StepPlan } {
  const { name } = activity
  const input = encode(given, `the input of activity '${name}'`)
  const asked = { ...activity.options, ...options }
  const plan = activityPlan(asked, activities(name)?.options, `activity '${name}'`)
  const { scheduleToStartMs, scheduleToCloseMs } = plan
  const digest = digestPayload(input)
  const marks = {
    ...(options.onCancel === 'wait' && { onCancel: 'wait' as const }),
    ...(scheduleToStartMs !== undefined && { scheduleToStartMs }),
    ...(scheduleToCloseMs !== undefined && { scheduleToCloseMs }),
  }
  return {
    wanted: { type: 'RunStep', kind: 'activity', key, name, input, digest, ...marks },
    plan,
  }
}

/** The signal, if there is one and somebody to send it to. */
export function signalTo(to: RunRef, signal: unknown): Sent {
  const { is, name } = (signal ?? {}) as { is?: string; name?: string }
  if (is !== 'signal' || name === undefined)
    throw misuse('ctx.signal takes a run id and a signal', signal)
  checkTarget('ctx.signal', to)
  return signal as Sent
}

/** Refuses what names no run. */
export function checkTarget(call: string, to: unknown): void {
  if (typeof to === 'object' && to !== null) {
    checkOptions(runReference, to, { of: call })
    checkKnownId((to as { readonly workflowId: string }).workflowId, 'a workflow id')
  } else if (typeof to !== 'string' || !isUuid(to))
    throw misuse(`${call} takes the id of a run, or { workflowId }`, to)
}

export function signalAsk(
  key: string,
  to: RunRef,
  signal: Sent,
  given: unknown,
  checked: boolean,
): Unplaced<SendMessage> {
  const { name } = signal
  if (!checked) checkPayloadNow(signal, given)
  const payload = encode(given, `the payload of signal '${name}'`)
  return { type: 'SendMessage', key, to, message: { type: 'signal', name, payload } }
}
