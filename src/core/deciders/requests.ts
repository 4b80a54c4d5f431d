// Requests of all styles: what workflow code passes to `ctx`, `graph` or `act`, checked, encoded and under its key.

import { defined } from '../base/defined.ts'
import { checkOptions } from '../base/described.ts'
import { digestPayload } from '../base/digest.ts'
import { checkKnownId, checkKnownName } from '../base/names.ts'
import { encode } from '../base/value.ts'
import { storedAttributes } from '../definitions/attributes.ts'
import type { RunRef } from '../definitions/context.ts'
import { checkPayloadNow, type SignalToSend } from '../definitions/messages.ts'
import {
  type ActivityOptions,
  type ChildOptions,
  childOptions,
  type RunOptions,
  type WorkflowOptions,
} from '../definitions/options.ts'
import { type ActivityOf, activityPlan, checkPriority, timeouts } from '../definitions/plan.ts'
import type { Request, RunStep, SendMessage, StartChild } from '../kernel/command.ts'
import type { StepPlan } from '../kernel/decider.ts'
import { unescapeKey } from '../kernel/ids.ts'
import { parseNodeKey } from './graph/node-key.ts'

/** A request without its place in the history: the decider adds that when it makes the command. */
export type Unplaced<T extends Request> = T extends unknown ? Omit<T, 'after' | 'past'> : never

/** What a request needs to know of the workflow or activity it names. */
interface Named<Options> {
  readonly name: string
  readonly options?: Options
}

export function childRequest(
  key: string,
  workflow: Named<WorkflowOptions>,
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

export function activityRequest(
  key: string,
  activity: Named<ActivityOptions>,
  given: unknown,
  options: RunOptions,
  activities: ActivityOf,
): { readonly request: Unplaced<RunStep>; readonly plan: StepPlan } {
  const { name } = activity
  const input = encode(given, `the input of activity '${name}'`)
  const requested = { ...activity.options, ...options }
  const plan = activityPlan(requested, activities(name)?.options, `activity '${name}'`)
  const { scheduleToStartMs, scheduleToCloseMs } = plan
  const digest = digestPayload(input)
  const marks = {
    ...(options.onCancel === 'wait' && { onCancel: 'wait' as const }),
    ...defined({ scheduleToStartMs, scheduleToCloseMs }),
  }
  return {
    request: { type: 'RunStep', kind: 'activity', key, name, input, digest, ...marks },
    plan,
  }
}

type SignalMessage = Extract<SendMessage['message'], { type: 'signal' }>

/** `isChecked`: the payload has passed the schema of its signal before. */
export function signalRequest(
  key: string,
  to: RunRef,
  signal: SignalToSend,
  given: unknown,
  isChecked: boolean,
): Unplaced<SendMessage> & { readonly message: SignalMessage } {
  const { name } = signal
  if (!isChecked) checkPayloadNow(signal, given)
  const payload = encode(given, `the payload of signal '${name}'`)
  return { type: 'SendMessage', key, to, message: { type: 'signal', name, payload } }
}

// The key of a step as people read it.

/** 'charge' of 'activity:charge#1', 'charge #2' of its second call, 'undo charge' of 'shield#1/undo:charge#1'. */
export function stepName(key: string): string {
  const node = parseNodeKey(key)
  if (node?.kind === 'undo') return `undo ${node.name}`
  const places = key.split('/')
  const last = places.pop() ?? key
  // A saga or shield around a step does not help to tell which step it is.
  const around = places.filter((place) => !/^(saga|shield)#\d+$/.test(place))
  return [...around, lastName(last)].join('/')
}

function lastName(part: string): string {
  const [, name, occurrence = '1', index] = /^\w+:(.+)#(\d+)(?:\[(\d+)\])?$/.exec(part) ?? []
  const plain = unescapeKey(name ?? part.replace(/^\[(.*)\]$/, '$1'))
  const item = index === undefined ? '' : ` [${index}]`
  return occurrence === '1' ? `${plain}${item}` : `${plain} #${occurrence}${item}`
}
