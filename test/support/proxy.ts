// A proxy with a fixed address in front of a server that may change.

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Proxy {
  readonly port: number
  readonly #server: Server
  #target: number | undefined
  readonly #pairs = new Set<readonly [Socket, Socket]>()

  /** Opens a proxy to this port of 127.0.0.1. */
  static async to(target: number): Promise<Proxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Proxy(server, target)
  }

  private constructor(server: Server, target: number) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no free port')
    this.port = address.port
    this.#server = server
    this.#target = target
    server.on('connection', (client) => this.#join(client))
  }

  /** Silently drops all answers of the server. */
  hold(): void {
    for (const [, server] of this.#pairs) server.unpipe().pause()
  }

  /** Cuts all connections, and refuses new ones until the proxy has a target again. */
  lead(target: number | undefined): void {
    this.#target = target
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  async close(): Promise<void> {
    this.lead(undefined)
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    if (this.#target === undefined) return void client.destroy()
    const server = connect(this.#target, '127.0.0.1')
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#pairs.delete(pair)
        for (const each of pair) each.destroy()
      })
    }
    client.pipe(server).pipe(client)
  }
}
