// A worker in a process of its own: `node worker-process.ts <store url> <name>`. Says when it is ready, and works
// until its input ends.
import { open } from '../../src/index.ts'
import { shared } from './shared-work.ts'

const [url = '', name = ''] = process.argv.slice(2)
const engine = await open(url, { workflows: [shared(name)] })
const worker = engine.work({ id: name, signals: false, concurrency: 4 })
await worker.ready
process.stdout.write('ready\n')
process.stdin.resume()
await new Promise((resolve) => process.stdin.once('end', resolve))
await engine.close()
