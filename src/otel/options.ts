// The options of `otel`.
import type { Tracer } from '@opentelemetry/api'
import { type Described, flag, fn, given } from '../core/base/described.ts'
import type { DepthOf } from './spans.ts'

export const otelOptions = {
  /** Makes the spans. Default: the tracer `pawl` of the global provider. */
  tracer: given<Tracer>('Makes the spans.', 'a tracer', { otherwise: 'the tracer `pawl` of the global provider' }),
  /** Runs belong to the trace of their caller, which suits short ones. Default: each has its own, with a link. */
  join: flag('Runs belong to the trace of their caller, which suits short ones.', {
    otherwise: 'each has a trace of its own, which links to the caller',
  }),
  /** How many tasks of a queue wait, for spans of claims: `(queue) => counted.depthOf(queue)`. */
  depthOf: fn<DepthOf>('How many tasks of a queue wait, for spans of claims.', { otherwise: 'unknown' }),
} as const
/** How runs are traced. */
export interface OtelOptions extends Described<typeof otelOptions> {}
