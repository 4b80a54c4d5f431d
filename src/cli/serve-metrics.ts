// `/metrics` of a worker without the HTTP API: `pawl worker --metrics <port>`.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { PawlError } from '../core/base/errors.ts'
import { type Engine, metrics } from '../index.ts'
import { METRICS_TYPE } from '../metrics/text.ts'
import { placeOf } from '../server/config.ts'

/** Serves the metrics of an engine, until `close`. */
export async function serveMetrics(
  engine: Engine,
  listen: string,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const place = placeOf(listen)
  if (!place) {
    const message = `--metrics '${listen}' is no place to listen; expected a port, or an address and a port: 0.0.0.0:9464.`
    throw new PawlError('INPUT_INVALID', message)
  }
  const counted = metrics(engine)
  const server = createServer((request, response) => {
    const isMetrics = request.url?.split('?', 1)[0] === '/metrics'
    if (!isMetrics || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404).end()
      return
    }
    counted.text().then(
      (text) => response.writeHead(200, { 'content-type': METRICS_TYPE }).end(request.method === 'HEAD' ? '' : text),
      () => response.writeHead(500).end(),
    )
  })
  const port = await listening(server, place)
  const close = (): void => {
    server.close()
    server.closeAllConnections()
    counted.close()
  }
  const host = place.host.includes(':') ? `[${place.host}]` : place.host
  return { url: `http://${host}:${port}/metrics`, close }
}

async function listening(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new PawlError('INPUT_INVALID', `--metrics cannot listen: ${problem}. Choose another port, or 0 for any.`)
  }
  const address = server.address()
  return typeof address === 'object' && address ? address.port : port
}
