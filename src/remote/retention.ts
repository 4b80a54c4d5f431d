// The retention of a server's store.

import { inParts, type RetentionCalls, type RetentionRecord } from '../addons/retention/calls.ts'
import type { PurgeOptions, RetentionPolicy } from '../addons/retention/options.ts'
import type { PurgeReport } from '../addons/retention/sweep.ts'
import type { Connection } from './connection.ts'

export class RemoteRetention implements RetentionCalls {
  readonly #server: Connection

  /** @internal */
  constructor(server: Connection) {
    this.#server = server
  }

  set(policy: RetentionPolicy): Promise<void> {
    return this.#server.call('retention.set', policy)
  }

  async get(): Promise<RetentionRecord | undefined> {
    return (await this.#server.call('retention.get', {})).retention
  }

  remove(): Promise<void> {
    return this.#server.call('retention.remove', {})
  }

  purge(policy: RetentionPolicy, options: PurgeOptions = {}): Promise<PurgeReport> {
    return inParts(options, (part) => this.#server.call('retention.purge', { policy, ...part }))
  }
}
