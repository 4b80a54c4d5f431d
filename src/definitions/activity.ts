// Activities: ordinary functions, known by a name, that do the work outside a workflow.
import { PawlError } from '../kernel/errors.ts'
import { checkName } from '../kernel/names.ts'
import type { ActivityContext, ActivityContract, ActivityHandler } from './contract.ts'
import type { ActivityOptions } from './options.ts'

/** A contract and its code. */
export interface Activity<in In, out Out> extends ActivityContract<In, Out> {
  readonly options: ActivityOptions
  /** The bare function, for unit tests. */
  readonly handler: (input: In, ctx: ActivityContext) => Promise<Out>
}

export type AnyActivity = Activity<never, unknown>

/** A contract alone; `implement` gives the definition, in a module the client never imports. */
export interface DeclaredActivity<in out In, in out Out> extends ActivityContract<In, Out> {
  readonly options: ActivityOptions
  implement(handler: ActivityHandler<In, Out>): Activity<In, Out>
}

interface DefineActivity {
  <Out, In = void>(name: string, handler: ActivityHandler<In, Out>): Activity<In, Out>
  <Out, In = void>(
    name: string,
    options: ActivityOptions,
    handler: ActivityHandler<In, Out>,
  ): Activity<In, Out>
  declare<In = void, Out = void>(name: string, options?: ActivityOptions): DeclaredActivity<In, Out>
  /** Answers for every activity name that has no definition of its own. */
  dynamic(handler: (name: string, input: unknown, ctx: ActivityContext) => unknown): AnyActivity
}

function define<In, Out>(
  name: string,
  first: ActivityOptions | ActivityHandler<In, Out>,
  second?: ActivityHandler<In, Out>,
): Activity<In, Out> {
  const [options, handler] = typeof first === 'function' ? [{}, first] : [first, second]
  return implement(name, options, handler)
}

function implement<In, Out>(
  name: string,
  options: ActivityOptions,
  handler: ActivityHandler<In, Out> | undefined,
): Activity<In, Out> {
  checkName(name, 'the name of an activity')
  if (typeof handler !== 'function') {
    throw new PawlError(
      'DEFINITION_INVALID',
      `activity '${name}' has no function. Write activity('${name}', async (input, ctx) => …).`,
    )
  }
  const definition = {
    is: 'activity',
    name,
    options,
    handler: async (input: In, ctx: ActivityContext): Promise<Out> => handler(input, ctx),
  } as const
  return definition as typeof definition & Activity<In, Out>
}

function declare<In = void, Out = void>(
  name: string,
  options: ActivityOptions = {},
): DeclaredActivity<In, Out> {
  checkName(name, 'the name of an activity')
  const contract = {
    is: 'activity',
    name,
    options,
    implement: (handler: ActivityHandler<In, Out>) => implement(name, options, handler),
  } as const
  return contract as typeof contract & DeclaredActivity<In, Out>
}

function dynamic(
  handler: (name: string, input: unknown, ctx: ActivityContext) => unknown,
): AnyActivity {
  if (typeof handler !== 'function') {
    throw new PawlError(
      'DEFINITION_INVALID',
      'activity.dynamic takes a function (name, input, ctx).',
    )
  }
  const definition = { is: 'activity', name: 'any other', options: {}, dynamic: true, handler }
  return definition as unknown as AnyActivity
}

export const activity: DefineActivity = Object.assign(define, { declare, dynamic })
