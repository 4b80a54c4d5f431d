/**
 * `pawl/otel`: traces of runs, attempts and requests with OpenTelemetry.
 *
 * Unstable: before 1.0 a minor version may change it.
 *
 * @packageDocumentation
 */
import { trace } from '@opentelemetry/api'
import { checkOptions } from '../core/base/described.ts'
import type { Interceptor, Listener } from '../core/index.ts'
import { version } from '../operations/version.ts'
import { tracingInterceptor } from './interceptors.ts'
import { type OtelOptions, otelOptions } from './options.ts'
import { spans } from './spans.ts'

export { type IdGenerator, pawlIdGenerator } from './ids.ts'
export type { OtelOptions } from './options.ts'
export type { DepthOf } from './spans.ts'

/** What `open` takes: `open(url, { ...otel() })`. */
export interface Otel {
  readonly listeners: readonly Listener[]
  readonly interceptors: readonly Interceptor[]
}

/**
 * Traces runs, attempts and requests. Set up the SDK before with `pawlIdGenerator()`.
 *
 * ```ts
 * const engine = await open('sqlite:./pawl.db', { workflows: [order], ...otel() })
 * ```
 */
export function otel(options: OtelOptions = {}): Otel {
  checkOptions(otelOptions, options, { of: 'otel' })
  const { tracer = trace.getTracer('pawl', version()), join = false, depthOf = () => undefined } = options
  return { listeners: [spans(tracer, depthOf)], interceptors: [tracingInterceptor(tracer, join)] }
}
