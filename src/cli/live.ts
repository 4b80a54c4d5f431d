// Commands that follow what happens: `tail` and `runs --watch` read the live events of a server, or of a store through
// the API of a server in this process, so that both print the same.
import { connect, type RemoteClient } from '../remote/index.ts'
import { server } from '../server/index.ts'
import { type StoreOption, withEngine } from './options.ts'
import { withServer } from './server-option.ts'

export async function withLive(options: StoreOption, use: (client: RemoteClient) => Promise<void>): Promise<void> {
  const { url } = options
  if (url !== undefined) return withServer(url, options, use)
  await withEngine(options, 'a store', async (engine) => {
    const api = server(engine, { open: true })
    const fetch = (place: string, init: RequestInit): Promise<Response> => api.fetch(new Request(place, init))
    try {
      await use(connect('http://localhost', { fetch }))
    } finally {
      await api.close()
    }
  })
}
