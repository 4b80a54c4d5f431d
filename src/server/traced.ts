// A request on its way through interceptors, with the span of its caller.
import type { RequestAnswer, RequestCall } from '../core/index.ts'
import { parseTraceparent } from '../core/index.ts'
import type { Engine } from '../engine.ts'
import type { Operable } from '../operations/operate.ts'
import { problemOf } from '../operations/problems.ts'
import type { Route } from '../operations/routes.ts'
import type { HttpRequest } from './http.ts'
import { propertiesOf } from './openapi.ts'
import type { Fields } from './read-input.ts'

export interface Traced {
  readonly name: Operable
  readonly route: Pick<Route, 'path'>
  readonly input: Fields
  readonly request: HttpRequest
  readonly requestId: string
}

/** Carries the request out through the interceptors of the engine. */
export async function traced<T>(
  engine: Engine,
  { name, route, input, request, requestId }: Traced,
  carryOut: (input: Fields) => Promise<{ readonly status: number; readonly output: T }>,
): Promise<T> {
  const call = { operation: name, method: request.method, route: route.path, requestId, ...callerOf(request) }
  let done: { readonly output: T } | { readonly error: unknown } | undefined
  const make = async (made: RequestCall): Promise<RequestAnswer> => {
    try {
      const { status, output } = await carryOut(withCaller(name, input, made.traceparent))
      done = { output }
      return { status }
    } catch (error) {
      done = { error }
      const problem = problemOf(error, requestId)
      return { status: problem?.status ?? 500, error: problem?.code ?? 'INTERNAL' }
    }
  }
  await engine.intercepted(call, make)
  if (!done) throw new Error('an interceptor of requests did not call `next`')
  if ('error' in done) throw done.error
  return done.output
}

// A header that is no traceparent counts as absent, as W3C Trace Context has it.
function callerOf(request: HttpRequest): { readonly traceparent?: string } {
  const traceparent = request.header('traceparent')
  return traceparent !== undefined && parseTraceparent(traceparent) ? { traceparent } : {}
}

/** Starts and messages take the caller along, unless they name one themselves. */
function withCaller(name: Operable, input: Fields, traceparent: string | undefined): Fields {
  if (traceparent === undefined) return input
  if (Object.hasOwn(propertiesOf(name), 'traceparent')) return { traceparent, ...input }
  const { runs } = input
  if (name !== 'runs.startMany' || !Array.isArray(runs)) return input
  return { ...input, runs: runs.map((run: unknown) => (isObject(run) ? { traceparent, ...run } : run)) }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
