// Workflows written as a function: a name, options, and a function of `ctx` and the input.
import { digest } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import type { Context } from './context.ts'
import type { Accepted, AsWritten, Taken, WorkflowContract } from './contract.ts'
import { type WorkflowOptions, workflowOptions } from './options.ts'
import { type KnownSchemas, type Schemas } from './schema.ts'
import { schemasIn } from './schema-options.ts'

/** The function of a workflow. A run is started with `In`; the input schema, if any, turns it into `Parsed`. */
export type WorkflowHandler<In, Parsed, Out> = (ctx: Context<In>, input: Parsed) => Promise<Out>

/** How a workflow is written. */
export type Style = 'function' | 'graph' | 'machine'

/** A workflow definition: its contract and its code. */
export interface Workflow<in In, out Out> extends WorkflowContract<In, Out> {
  /** How the workflow is written. */
  readonly style: Style
  readonly options: WorkflowOptions
  /** Changes when the definition changes: the text of a function, or the steps of a graph and their order. */
  readonly definitionHash: string
  readonly schemas: KnownSchemas
}

/** A workflow with any input and output. */
export type AnyWorkflow = Workflow<never, unknown>

/** A contract without code, for modules that only start runs. `implement` adds the code in another module. */
export interface DeclaredWorkflow<in out In, in out Out, in out Parsed = In> extends WorkflowContract<In, Out> {
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
  /** The definition: this contract with its code. */
  implement(handler: WorkflowHandler<In, Parsed, Out>): Workflow<In, Out>
}

type TakenBy<Handler, In, Parsed> = Handler extends (ctx: never, ...input: infer Parameter) => unknown
  ? Taken<In, Parameter>
  : Accepted<In, Parsed>

interface DefineWorkflow {
  <Out, In = unknown, Handler = unknown>(
    name: string,
    handler: Handler & WorkflowHandler<In, In, Out>,
  ): Workflow<TakenBy<Handler, AsWritten, In>, Out>
  <Out, Parsed = unknown, In = AsWritten, Handler = unknown>(
    name: string,
    options: WorkflowOptions & Schemas<In, Parsed, Out>,
    handler: Handler & WorkflowHandler<Accepted<In, Parsed>, Parsed, Out>,
  ): Workflow<TakenBy<Handler, In, Parsed>, Out>
  /** Declares a contract without code: `workflow.declare<Order, Receipt>('order')`. */
  declare<In, Out, Parsed>(
    name: string,
    options: WorkflowOptions & Required<Schemas<In, Parsed, Out>>,
  ): DeclaredWorkflow<In, Out, Parsed>
  declare<In = void, Out = void>(name: string, options?: WorkflowOptions): DeclaredWorkflow<In, Out>
  /** Defines the workflow for every name that has no definition of its own; `ctx.info.name` is that name. */
  dynamic(handler: (ctx: Context<unknown>, input: unknown) => Promise<unknown>): AnyWorkflow
}

type Options<In, Parsed, Out> = WorkflowOptions & Schemas<In, Parsed, Out>

function define<In, Parsed, Out>(
  name: string,
  first: Options<In, Parsed, Out> | WorkflowHandler<In, Parsed, Out>,
  second?: WorkflowHandler<In, Parsed, Out>,
): Workflow<In, Out> {
  const [given, handler] = typeof first === 'function' ? [{}, first] : [first, second]
  const { options, schemas } = schemasIn(given, `workflow '${name}'`, workflowOptions)
  return implement(name, options, schemas, handler)
}

function implement<In, Parsed, Out>(
  name: string,
  options: WorkflowOptions,
  schemas: KnownSchemas,
  handler: WorkflowHandler<In, Parsed, Out> | undefined,
): Workflow<In, Out> {
  checkName(name, 'the name of a workflow')
  if (typeof handler !== 'function') {
    throw new PawlError(
      'DEFINITION_INVALID',
      `workflow '${name}' has no function. Write workflow('${name}', async (ctx, input) => …).`,
    )
  }
  const definition = {
    is: 'workflow',
    style: 'function',
    name,
    options,
    schemas,
    definitionHash: digest(`${name}\n${handler.toString()}`),
    handler,
  } as const
  return definition as typeof definition & Workflow<In, Out>
}

function declare<In = void, Out = void, Parsed = In>(
  name: string,
  given: WorkflowOptions & Partial<Schemas<In, Parsed, Out>> = {},
): DeclaredWorkflow<In, Out, Parsed> {
  checkName(name, 'the name of a workflow')
  const { options, schemas } = schemasIn(given, `workflow '${name}'`, workflowOptions)
  const contract = {
    is: 'workflow',
    name,
    options,
    schemas,
    implement: (handler: WorkflowHandler<In, Parsed, Out>) => implement(name, options, schemas, handler),
  } as const
  return contract as typeof contract & DeclaredWorkflow<In, Out, Parsed>
}

function dynamic(handler: WorkflowHandler<unknown, unknown, unknown>): AnyWorkflow {
  return { ...implement('any other', {}, {}, handler), dynamic: true } as unknown as AnyWorkflow
}

/**
 * Defines a workflow. Options and schemas go between the name and the function.
 *
 * ```ts
 * const order = workflow('order', { runTimeout: '1d' }, async (ctx, order: Order) => {
 *   await ctx.run(charge, order)
 * })
 * ```
 */
export const workflow: DefineWorkflow = Object.assign(define, { declare, dynamic })
