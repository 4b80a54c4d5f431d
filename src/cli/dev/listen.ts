// Starts the API of `pawl dev`, on the usual port or the next one that is free.
import { InvalidArgumentError } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Engine } from '../../index.ts'
import { type Server, type ServerOptions, server } from '../../server/index.ts'

const PORTS_TRIED = 10

export interface Api {
  readonly server: Server
  readonly url: string
}

interface Place {
  readonly host: string
  readonly port?: number
}

export async function listen(engine: Engine, { host, port }: Place, options: ServerOptions = {}): Promise<Api> {
  if (port !== undefined) return listenOn(engine, { host, port }, options)
  for (let next: number = limits.serverPort; ; next++) {
    try {
      return await listenOn(engine, { host, port: next }, options)
    } catch (error) {
      if (!isTaken(error) || next === limits.serverPort + PORTS_TRIED) throw error
    }
  }
}

async function listenOn(engine: Engine, place: Required<Place>, options: ServerOptions): Promise<Api> {
  const api = server(engine, { ui: true, ...options })
  const { url } = await api.listen(place)
  return { server: api, url }
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof PawlError)) return false
  return (error.cause as { readonly code?: unknown } | undefined)?.code === 'EADDRINUSE'
}

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Expected a port: 0 to 65535, and 0 for any that is free.')
}
