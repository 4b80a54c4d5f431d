// An OpenTelemetry collector: takes spans as OTLP/JSON over HTTP, from an SDK that exports each span as it ends.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { pawlIdGenerator } from 'pawl/otel'

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly attributes: Readonly<Record<string, string | number>>
  /** 2 for an error. */
  readonly status: number
}

interface RawSpan extends Omit<CollectedSpan, 'attributes' | 'links' | 'status'> {
  readonly attributes?: readonly { key: string; value: Readonly<Record<string, string | number>> }[]
  readonly links?: CollectedSpan['links']
  readonly status?: { readonly code?: number }
}

export class Collector {
  readonly spans: CollectedSpan[] = []
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      this.#take(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name)
  }

  #take(body: string): void {
    const { resourceSpans } = JSON.parse(body) as {
      resourceSpans: readonly { scopeSpans: readonly { spans: readonly RawSpan[] }[] }[]
    }
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) {
        for (const { attributes = [], links = [], status, ...span } of spans) {
          const pairs = attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? ''] as const)
          this.spans.push({ ...span, links, status: status?.code ?? 0, attributes: Object.fromEntries(pairs) })
        }
      }
    }
  }
}

/** An SDK that sends to the collector, with pawl's ids unless `plain`. */
export function sdk(url: string, plain = false): BasicTracerProvider {
  const ids = plain ? {} : { idGenerator: pawlIdGenerator() }
  return new BasicTracerProvider({ ...ids, spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url }))] })
}

/** Lets spans be active in what they surround, until the returned function is called. */
export function activeSpans(): () => void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
}
