// From what a handler gave to what the run is asked for: the state is checked, and actions become commands in their order.

import { assert, unreachable } from '../../base/assert.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { Instant } from '../../base/instant.ts'
import { encode, type Payload } from '../../base/value.ts'
import type { MachineAction, MachinePlan } from '../../definitions/machine-plan.ts'
import type { ActivityOptions } from '../../definitions/options.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import { checkNow, parseNow } from '../../definitions/schema.ts'
import type { Command, EndRun } from '../../kernel/command.ts'
import { activityAsk, childAsk } from '../asks.ts'
import type { Requests } from './requests.ts'

export interface MadeMove {
  readonly state: Payload
  readonly commands: readonly Command[]
  /** The last of the commands, if it ends the run. */
  readonly end?: EndRun
  readonly options?: Payload
}

/** `by` is the event it answers; `handler` is what people call the code that made it. */
interface MoveOf {
  readonly by: number
  readonly now: Instant
  readonly handler: string
  readonly activities: ActivityOf
}

export function makeMove(
  machine: RegisteredMachine,
  requests: Requests,
  given: unknown,
  { by, now, handler, activities }: MoveOf,
): MadeMove {
  const [state, ...actions] = moveOf(given, handler)
  const taken = takenState(machine.machine, state, handler)
  const deeds = new Deeds({ machine, requests, activities }, by, now)
  for (const action of actions) deeds.add(action, handler)
  const { commands, end, options } = deeds
  return { state: taken, commands, ...(end && { end }), ...(options && { options }) }
}

function takenState({ name, state: schema }: MachinePlan, state: unknown, handler: string) {
  const what = `the state that ${handler} of machine '${name}' gave`
  if (schema) checkNow(schema, state, what)
  return encode(state, what)
}

interface DeedsOf {
  readonly machine: RegisteredMachine
  readonly requests: Requests
  readonly activities: ActivityOf
}

class Deeds {
  readonly commands: Command[] = []
  end: EndRun | undefined
  readonly #machine: RegisteredMachine
  readonly #requests: Requests
  readonly #activities: ActivityOf
  readonly #after: number
  readonly #now: Instant
  readonly #options: [string, ActivityOptions][] = []

  constructor(of: DeedsOf, after: number, now: Instant) {
    this.#machine = of.machine
    this.#requests = of.requests
    this.#activities = of.activities
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
        return this.#callOff(this.#requests.timer(action.timer))
      case 'cancel':
        return this.#callOff(this.#requests.byId(action.id))
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
    const { key, isRecorded } = this.#requests.ask({ kind: 'activity', name, id }, options)
    if (Object.keys(options).length > 0) this.#options.push([key, options])
    const { wanted } = activityAsk(key, activity, input, options, this.#activities)
    if (!isRecorded) this.commands.push({ ...wanted, after: this.#after })
  }

  #child({ workflow, input, id, options }: Extract<MachineAction, { action: 'child' }>): void {
    const { name } = workflow
    const { key, isRecorded } = this.#requests.ask({ kind: 'child', name, id })
    const wanted = childAsk(key, workflow, input, options)
    if (!isRecorded) this.commands.push({ ...wanted, after: this.#after })
  }

  #timer({ timer: name, ms }: Extract<MachineAction, { action: 'timer' }>): void {
    this.#callOff(this.#requests.timer(name))
    const { key, isRecorded } = this.#requests.ask({ kind: 'timer', name, id: undefined })
    const until = this.#now + ms
    if (!isRecorded) this.commands.push({ type: 'SetTimer', key, after: this.#after, until })
  }

  // What has ended by now cannot be called off, and whoever wants that has it.
  #callOff(key: string | undefined): void {
    if (key === undefined) return
    this.#requests.settle(key)
    this.commands.push({ type: 'CallOff', keys: [key] })
  }

  #output(given: unknown): Payload {
    const { name, schemas } = this.#machine
    const what = `the output of machine '${name}'`
    if (!schemas.output) return encode(given, what)
    const parsed = parseNow(schemas.output, given, what, 'OUTPUT_INVALID')
    if (parsed) return encode(parsed.value, what)
    const message = `the schema of ${what} has to wait for something, and a machine cannot. Use one that answers at once, or check it in an activity.`
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

function moveOf(given: unknown, handler: string): readonly [unknown, ...MachineAction[]] {
  if (!Array.isArray(given) || given.length === 0) throw noMove(handler, given)
  const [state, ...actions] = given as [unknown, ...(MachineAction | undefined)[]]
  if (actions.every((each) => ACTIONS.has(each?.action))) return [state, ...actions] as never
  const message = `${handler} gave something behind the state that is no action. Actions are what \`act\` makes, as in [state, act.run('name', input)].`
  throw new PawlError('INPUT_INVALID', message)
}

function noMove(handler: string, given: unknown): PawlError {
  const isPromise = typeof (given as { then?: unknown } | null)?.then === 'function'
  const why = isPromise
    ? 'a promise; it must answer at once, and what takes time is for an activity'
    : `${given === undefined ? 'nothing' : 'something else'}; to change the state alone, give [state]`
  const message = `${handler} must give [state, ...actions], and gave ${why}.`
  return new PawlError('INPUT_INVALID', message)
}

function afterEnd(handler: string): PawlError {
  const message = `${handler} gave an action behind act.complete or act.fail, which end the run. Put what is to happen before that first.`
  return new PawlError('INPUT_INVALID', message)
}

// A text alone has no stack worth keeping: it would lead into pawl.
function failureFor(error: unknown): Failure {
  if (typeof error !== 'string') return failureOf(error)
  const { stack: _, ...failure } = failureOf(new Error(error))
  return failure
}
