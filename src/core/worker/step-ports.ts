// What step bodies need of the store, bound to the worker that runs them.

import { PermanentError } from '../base/errors.ts'
import { decode, encode } from '../base/value.ts'
import { decodePayload, encodePayload } from '../kernel/codec.ts'
import type { Store } from '../stores/store.ts'
import type { StepPorts } from './step-runner.ts'

type Send = <T>(call: (store: Store) => Promise<T>) => Promise<T>

export function storePorts(
  store: Store,
  send: Send,
): Pick<StepPorts, 'loadNotes' | 'keepNote' | 'transact'> {
  return {
    loadNotes: async ({ runId, generation, key }) => {
      const [loaded] = await send((to) => to.load([{ type: 'notes', runId, generation, key }]))
      return loaded?.type === 'notes' ? loaded.notes : {}
    },
    keepNote: async (note) => {
      const [noted] = await send((to) => to.note([note]))
      return noted ?? {}
    },
    transact: async (of, body) => {
      if (!store.transact) throw unsupported(store)
      const { transact } = store
      // Sent again while the database is away: what was committed is found, and what was not is done once more.
      const text = await send(() =>
        transact.call(store, of, async (sql) =>
          encodePayload(encode(await body(sql as never), `the result of transaction '${of.key}'`)),
        ),
      )
      return decode(decodePayload(text))
    },
  }
}

function unsupported({ traits }: Store): PermanentError {
  return new PermanentError(
    `ctx.transaction needs a store that is a database (SQLite or Postgres), and this one is '${traits.name}'. Use ctx.run with ctx.idempotencyKey instead.`,
    { details: { code: 'NOT_SUPPORTED' } },
  )
}
