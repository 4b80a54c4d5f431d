// Activities: ordinary functions under a name, which do the work that a workflow coordinates.
import type { Description } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import type { Accepted, ActivityContext, ActivityContract, ActivityHandler, AsWritten, Taken } from './contract.ts'
import { type ActivityOptions, activityOptions } from './options.ts'
import { type KnownSchemas, parse, type Schemas } from './schema.ts'
import { schemasIn } from './schema-options.ts'

/** An activity definition: its contract and its code. */
export interface Activity<in In, out Out> extends ActivityContract<In, Out> {
  readonly options: ActivityOptions
  /** Describes the fields of the input, if known. Graph documents are checked against it before they are stored. */
  readonly '~input'?: Description
  /** The function, with its schemas applied to input and output. Unit tests can call it. */
  readonly handler: (input: In, ctx: ActivityContext) => Promise<Out>
}

/** An activity with any input and output. */
export type AnyActivity = Activity<never, unknown>

/** A contract without code, for modules that only call the activity. `implement` adds the code in another module. */
export interface DeclaredActivity<in out In, in out Out, in out Parsed = In> extends ActivityContract<In, Out> {
  readonly options: ActivityOptions
  /** The definition: this contract with its code. */
  implement(handler: ActivityHandler<Parsed, Out>): Activity<In, Out>
}

type TakenBy<Handler, In, Parsed> = Handler extends (...input: infer Parameter) => unknown
  ? Taken<In, Parameter>
  : Accepted<In, Parsed>

interface DefineActivity {
  <Out, In = unknown, Handler = unknown>(
    name: string,
    handler: Handler & ActivityHandler<In, Out>,
  ): Activity<TakenBy<Handler, AsWritten, In>, Out>
  <Out, Parsed = unknown, In = AsWritten, Handler = unknown>(
    name: string,
    options: ActivityOptions & Schemas<In, Parsed, Out>,
    handler: Handler & ActivityHandler<Parsed, Out>,
  ): Activity<TakenBy<Handler, In, Parsed>, Out>
  /** Declares a contract without code: `activity.declare<Order, Receipt>('charge')`. */
  declare<In, Out, Parsed>(
    name: string,
    options: ActivityOptions & Required<Schemas<In, Parsed, Out>>,
  ): DeclaredActivity<In, Out, Parsed>
  declare<In = void, Out = void>(name: string, options?: ActivityOptions): DeclaredActivity<In, Out>
  /** Defines the activity for every name that has no definition of its own; the function gets that name first. */
  dynamic(handler: (name: string, input: unknown, ctx: ActivityContext) => unknown): AnyActivity
}

type Options<In, Parsed, Out> = ActivityOptions & Schemas<In, Parsed, Out>

function define<In, Parsed, Out>(
  name: string,
  first: Options<In, Parsed, Out> | ActivityHandler<Parsed, Out>,
  second?: ActivityHandler<Parsed, Out>,
): Activity<In, Out> {
  const [given, handler] = typeof first === 'function' ? [{}, first] : [first, second]
  const { options, schemas } = schemasIn(given, `activity '${name}'`, activityOptions)
  return implement(name, options, schemas, handler)
}

function implement<In, Parsed, Out>(
  name: string,
  options: ActivityOptions,
  schemas: KnownSchemas,
  handler: ActivityHandler<Parsed, Out> | undefined,
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
    handler: withSchemas(name, schemas, handler),
  } as const
  return definition as typeof definition & Activity<In, Out>
}

// The caller passes what the input schema accepts; the function gets what the schema parsed.
function withSchemas<In, Parsed, Out>(
  name: string,
  { input, output }: KnownSchemas,
  handler: ActivityHandler<Parsed, Out>,
): Activity<In, Out>['handler'] {
  return async (given, ctx) => {
    const taken = input ? await parse(input, given, `the input of activity '${name}'`) : given
    const made = await handler(taken as Parsed, ctx)
    if (!output) return made
    return (await parse(output, made, `the output of activity '${name}'`, 'OUTPUT_INVALID')) as Out
  }
}

function declare<In = void, Out = void, Parsed = In>(
  name: string,
  given: ActivityOptions & Partial<Schemas<In, Parsed, Out>> = {},
): DeclaredActivity<In, Out, Parsed> {
  checkName(name, 'the name of an activity')
  const { options, schemas } = schemasIn(given, `activity '${name}'`, activityOptions)
  const contract = {
    is: 'activity',
    name,
    options,
    implement: (handler: ActivityHandler<Parsed, Out>) => implement<In, Parsed, Out>(name, options, schemas, handler),
  } as const
  return contract as typeof contract & DeclaredActivity<In, Out, Parsed>
}

function dynamic(handler: (name: string, input: unknown, ctx: ActivityContext) => unknown): AnyActivity {
  if (typeof handler !== 'function') {
    throw new PawlError(
      'DEFINITION_INVALID',
      'activity.dynamic has no function. Write activity.dynamic(async (name, input, ctx) => …).',
    )
  }
  const definition = { is: 'activity', name: 'any other', options: {}, dynamic: true, handler }
  return definition as unknown as AnyActivity
}

/**
 * Defines an activity. Options and schemas go between the name and the function.
 *
 * ```ts
 * const charge = activity('charge', { startToClose: '30s' }, async (order: Order, ctx) => {
 *   return payments.charge(order.card, order.cents, { idempotencyKey: ctx.idempotencyKey })
 * })
 * ```
 */
export const activity: DefineActivity = Object.assign(define, { declare, dynamic })
