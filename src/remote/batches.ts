// Batches with a kept preview, on a server.
import type { Batches } from '../addons/batches/batches.ts'
import type { Connection } from './connection.ts'
import { named } from './filter.ts'

/** The calls of `engine.batches` that a server offers: all of them. */
export type BatchCalls = Pick<Batches, 'preview' | 'start' | 'stop' | 'get' | 'list'>

export function batchesOf(server: Connection): BatchCalls {
  return {
    preview: (filter, options) => server.call('batches.preview', { ...options, filter: named(filter) }),
    start: async (batch) => void (await server.call('batches.start', { batch })),
    stop: async (batch) => void (await server.call('batches.stop', { batch })),
    get: (batch) => server.call('batches.get', { batch }),
    list: (page) => server.call('batches.list', page ?? {}),
  }
}
