// Carries out an operation in this process: its input is checked, then its handler is called. The server, tools for
// language models and tests all come here.
import { checkOptions, type Description } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import type { Caller, Handlers } from './handlers/context.ts'
import { live } from './handlers/live.ts'
import { others } from './handlers/others.ts'
import { runs } from './handlers/runs.ts'
import { streams } from './handlers/streams.ts'
import { type InputOf, inputs } from './inputs.ts'
import type { OutputOf } from './outputs.ts'
import { type OperationName, routes, SCOPES, type Scope } from './routes.ts'

export type Operable = Exclude<OperationName, 'openapi.get'>

const handlers: Handlers<Operable> = { ...runs, ...streams, ...live, ...others }

export function isAllowed(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed)
}

/** Carries out an operation. The input is checked here, so it may come from anywhere. */
export async function operate<N extends Operable>(name: N, input: unknown, caller: Caller): Promise<OutputOf<N>> {
  const { scope } = routes[name]
  if (!isAllowed(caller.scope, scope)) {
    const message = `${name} needs the scope '${scope}', and this token has '${caller.scope}'. Use another token.`
    throw new PawlError('FORBIDDEN', message)
  }
  const description: Description = inputs[name]
  checkOptions(description, input, { of: name, noun: 'field' })
  return handlers[name](input as InputOf<N>, caller)
}
