// The move that a handler returned: its state is checked, and its actions become commands in their order.

import { assert, unreachable } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import { isObject, shown } from '../../base/described.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { Instant } from '../../base/time.ts'
import { encode, type Payload } from '../../base/value.ts'
import type { MachineAction, MachinePlan } from '../../definitions/machine-plan.ts'
import type { ActivityOptions } from '../../definitions/options.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import { checkNow, parseNow } from '../../definitions/schema.ts'
import type { Command, EndRun } from '../../kernel/command.ts'
import { activityRequest, childRequest } from '../requests.ts'
import type { Requests } from './requests.ts'

export interface MadeMove {
  readonly state: Payload
  readonly commands: readonly Command[]
  /** The last of the commands, if it ends the run. */
  readonly end?: EndRun
  readonly options?: Payload
}

/** `by` is the seq of the event that the move answers; `handler` names its code for people. */
interface MoveOrigin {
  readonly by: number
  readonly now: Instant
  readonly handler: string
  readonly activities: ActivityOf
}

export function makeMove(
  machine: RegisteredMachine,
  requests: Requests,
  given: unknown,
  { by, now, handler, activities }: MoveOrigin,
): MadeMove {
  const { state, actions } = contentsOf(given, handler)
  const checked = checkedState(machine.machine, state, handler)
  const move = new MoveCommands({ machine, requests, activities }, by, now)
  for (const action of actions) move.add(action, handler)
  const { commands, end, options } = move
  return defined({ state: checked, commands, end, options })
}

function checkedState({ name, state: schema }: MachinePlan, state: unknown, handler: string): Payload {
  const what = `the state that ${handler} of machine '${name}' returned`
  if (schema) checkNow(schema, state, what)
  return encode(state, what)
}

interface MoveContext {
  readonly machine: RegisteredMachine
  readonly requests: Requests
  readonly activities: ActivityOf
}

class MoveCommands {
  readonly commands: Command[] = []
  end: EndRun | undefined
  readonly #machine: RegisteredMachine
  readonly #requests: Requests
  readonly #activities: ActivityOf
  readonly #after: number
  readonly #now: Instant
  readonly #options: [string, ActivityOptions][] = []

  constructor({ machine, requests, activities }: MoveContext, after: number, now: Instant) {
    this.#machine = machine
    this.#requests = requests
    this.#activities = activities
    this.#after = after
    this.#now = now
  }

  get options(): Payload | undefined {
    if (this.#options.length === 0) return undefined
    return encode(Object.fromEntries(this.#options), 'the options of activities')
  }

  add(action: MachineAction, handler: string): void {
    if (this.end) throw afterEnd(handler)
    switch (action.action) {
      case 'run':
        return this.#run(action)
      case 'child':
        return this.#child(action)
      case 'timer':
        return this.#timer(action)
      case 'cancelTimer':
        return this.#cancel(this.#requests.timer(action.timer))
      case 'cancel':
        return this.#cancel(this.#requests.byId(action.id))
      case 'complete':
        return this.#end({ type: 'CompleteRun', value: this.#output(action.output) })
      case 'fail':
        return this.#end({ type: 'FailRun', failure: failureFor(action.error) })
      default:
        return unreachable(action)
    }
  }

  #run({ activity: name, input, id, options }: Extract<MachineAction, { action: 'run' }>): void {
    const activity = this.#machine.machine.activities.get(name)
    assert(activity, 'act makes only actions of its machine')
    const { key, isRecorded } = this.#requests.open({ kind: 'activity', name, id }, options)
    if (Object.keys(options).length > 0) this.#options.push([key, options])
    const { request } = activityRequest(key, activity, input, options, this.#activities)
    if (!isRecorded) this.commands.push({ ...request, after: this.#after })
  }

  #child({ workflow, input, id, options }: Extract<MachineAction, { action: 'child' }>): void {
    const { name } = workflow
    const { key, isRecorded } = this.#requests.open({ kind: 'child', name, id })
    const request = childRequest(key, workflow, input, options)
    if (!isRecorded) this.commands.push({ ...request, after: this.#after })
  }

  #timer({ timer: name, ms }: Extract<MachineAction, { action: 'timer' }>): void {
    this.#cancel(this.#requests.timer(name))
    const { key, isRecorded } = this.#requests.open({ kind: 'timer', name, id: undefined })
    const until = this.#now + ms
    if (!isRecorded) this.commands.push({ type: 'SetTimer', key, after: this.#after, until })
  }

  // A request that has ended needs no cancelling.
  #cancel(key: string | undefined): void {
    if (key === undefined) return
    this.#requests.settle(key)
    this.commands.push({ type: 'CancelRequests', keys: [key] })
  }

  #output(given: unknown): Payload {
    const { name, schemas } = this.#machine
    const what = `the output of machine '${name}'`
    if (!schemas.output) return encode(given, what)
    const parsed = parseNow(schemas.output, given, what, 'OUTPUT_INVALID')
    if (parsed) return encode(parsed.value, what)
    const message = `the schema of ${what} is asynchronous, but a machine needs the result at once. Use a synchronous schema, or check the output in an activity.`
    throw new PawlError('NOT_SUPPORTED', message)
  }

  #end(end: EndRun): void {
    this.end = end
    this.commands.push(end)
  }
}

const ACTIONS: ReadonlySet<unknown> = new Set<MachineAction['action']>([
  'run',
  'timer',
  'cancelTimer',
  'cancel',
  'child',
  'complete',
  'fail',
])

interface MoveContents {
  readonly state: unknown
  readonly actions: readonly MachineAction[]
}

function contentsOf(given: unknown, handler: string): MoveContents {
  if (!Array.isArray(given) || given.length === 0) throw notAMove(handler, given)
  const [state, ...actions]: readonly unknown[] = given
  if (actions.every(isAction)) return { state, actions }
  const wrong = actions.find((each) => !isAction(each))
  const message = `${handler} returned ${shown(wrong)} behind the state, but only actions may follow it. Make them with \`act\`, as in [state, act.run('name', input)].`
  throw new PawlError('INPUT_INVALID', message)
}

function isAction(value: unknown): value is MachineAction {
  return isObject(value) && ACTIONS.has(value['action'])
}

function notAMove(handler: string, given: unknown): PawlError {
  const isPromise = isObject(given) && typeof given['then'] === 'function'
  const problem = isPromise
    ? 'returned a promise. A handler must answer at once: move what takes time into an activity'
    : `returned ${shown(given)}. To change only the state, return [state]`
  return new PawlError('INPUT_INVALID', `${handler} must return [state, ...actions], but ${problem}.`)
}

function afterEnd(handler: string): PawlError {
  const message = `${handler} returned an action behind act.complete or act.fail, which end the run. Put that action before them, or remove it.`
  return new PawlError('INPUT_INVALID', message)
}

// An error made of a string gets no stack, because that would point into pawl.
function failureFor(error: unknown): Failure {
  if (typeof error !== 'string') return failureOf(error)
  const { stack: _, ...failure } = failureOf(new Error(error))
  return failure
}
