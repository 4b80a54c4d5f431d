// Builds on a server.
import type { Builds } from '../addons/builds/builds.ts'
import type { Connection } from './connection.ts'

/** Builds of a server's store. */
export class RemoteBuilds {
  readonly #server: Connection

  /** @internal */
  constructor(server: Connection) {
    this.#server = server
  }

  /** All builds with a share, a living worker, or a retirement. */
  async list(): ReturnType<Builds['list']> {
    return (await this.#server.call('builds.list', {})).items
  }

  /** The newest check of each build whose report was kept, newest first. */
  async checks(): ReturnType<Builds['checks']> {
    return (await this.#server.call('builds.checks', {})).items
  }

  /** Sets the share of new runs that a build starts, in percent. Runs it has started stay with it. */
  rollOut(build: string, percent: number): Promise<void> {
    return this.#server.call('builds.rollOut', { build, percent })
  }

  /** Retires a build: it starts no more runs, and any other build may continue its runs. */
  retire(build: string): Promise<void> {
    return this.#server.call('builds.retire', { build })
  }

  /** @internal */
  async isKnown(build: string): Promise<boolean> {
    return (await this.#server.call('builds.get', { build })).known
  }
}
