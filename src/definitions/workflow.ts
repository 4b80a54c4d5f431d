// Function workflows: a name, options, and a function over `ctx`.
import { digest } from '../kernel/digest.ts'
import { PawlError } from '../kernel/errors.ts'
import { checkName } from '../kernel/names.ts'
import type { Context } from './context.ts'
import type { WorkflowContract } from './contract.ts'
import type { WorkflowOptions } from './options.ts'

export type WorkflowHandler<In, Out> = (ctx: Context<In>, input: In) => Promise<Out>

/** A contract and its code. `style` is how it was written. */
export interface Workflow<in In, out Out> extends WorkflowContract<In, Out> {
  readonly style: 'function'
  readonly options: WorkflowOptions
  /** Changes when the function's text changes. */
  readonly definitionHash: string
  /** The `ctx` it takes is that of its own input; who calls it knows. */
  readonly handler: (ctx: never, input: In) => Promise<Out>
}

export type AnyWorkflow = Workflow<never, unknown>

/** A contract alone; `implement` gives the definition, in a module the client never imports. */
export interface DeclaredWorkflow<in out In, in out Out> extends WorkflowContract<In, Out> {
  readonly options: WorkflowOptions
  implement(handler: WorkflowHandler<In, Out>): Workflow<In, Out>
}

interface DefineWorkflow {
  <Out, In = void>(name: string, handler: WorkflowHandler<In, Out>): Workflow<In, Out>
  <Out, In = void>(
    name: string,
    options: WorkflowOptions,
    handler: WorkflowHandler<In, Out>,
  ): Workflow<In, Out>
  declare<In = void, Out = void>(name: string, options?: WorkflowOptions): DeclaredWorkflow<In, Out>
  /** Answers for every workflow name that has no definition of its own; `ctx.info.name` says which it is. */
  dynamic(handler: (ctx: Context<unknown>, input: unknown) => Promise<unknown>): AnyWorkflow
}

function define<In, Out>(
  name: string,
  first: WorkflowOptions | WorkflowHandler<In, Out>,
  second?: WorkflowHandler<In, Out>,
): Workflow<In, Out> {
  const [options, handler] = typeof first === 'function' ? [{}, first] : [first, second]
  return implement(name, options, handler)
}

function implement<In, Out>(
  name: string,
  options: WorkflowOptions,
  handler: WorkflowHandler<In, Out> | undefined,
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
    definitionHash: digest(`${name}\n${handler.toString()}`),
    handler,
  } as const
  return definition as typeof definition & Workflow<In, Out>
}

function declare<In = void, Out = void>(
  name: string,
  options: WorkflowOptions = {},
): DeclaredWorkflow<In, Out> {
  checkName(name, 'the name of a workflow')
  const contract = {
    is: 'workflow',
    name,
    options,
    implement: (handler: WorkflowHandler<In, Out>) => implement(name, options, handler),
  } as const
  return contract as typeof contract & DeclaredWorkflow<In, Out>
}

function dynamic(handler: WorkflowHandler<unknown, unknown>): AnyWorkflow {
  return { ...implement('any other', {}, handler), dynamic: true } as unknown as AnyWorkflow
}

export const workflow: DefineWorkflow = Object.assign(define, { declare, dynamic })
