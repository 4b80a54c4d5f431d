// A server of live events that gets killed. It ends with its parent.
// Usage: node test/crash/live-server.ts <store url> <folder> <lease in ms> <port>
import { flushCompileCache } from 'node:module'
import { open } from '../../src/index.ts'
import { server } from '../../src/server/index.ts'

const [, , store = '', , , port = '0'] = process.argv

process.on('disconnect', () => process.exit(0))
await server(await open(store)).listen({ port: Number(port) })
flushCompileCache()
process.send?.('ready')
