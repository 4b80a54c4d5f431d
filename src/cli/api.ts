// The operations of the HTTP API for commands: those of a server, or of a store in this process. One way for both, so
// that a command need not know where its runs are.
import { connect, type RemoteClient } from '../remote/index.ts'
import { server } from '../server/index.ts'
import { type StoreOption, withEngine } from './options.ts'
import { connectOptions } from './server-option.ts'

/** Calls operations, giving a reason for the audit trail. */
export type Api = (reason?: string) => RemoteClient

export async function withApi<T>(options: StoreOption, use: (api: Api) => Promise<T>): Promise<T> {
  const { url } = options
  if (url !== undefined) {
    const how = await connectOptions(options)
    return use((reason) => connect(url, { ...how, ...(reason !== undefined && { reason }) }))
  }
  return withEngine(options, 'a store', async (engine) => {
    // The same API as of any server: the same checks, the same limits, the same audit trail.
    const api = server(engine, { open: true })
    const fetch = (place: string, init: RequestInit): Promise<Response> => api.fetch(new Request(place, init))
    try {
      return await use((reason) => connect('http://localhost', { fetch, ...(reason !== undefined && { reason }) }))
    } finally {
      await api.close()
    }
  })
}
