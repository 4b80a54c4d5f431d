// The process the demo kills: a worker like any other. It ends with the demo, however that ends.
import { open } from '../../index.ts'
import { orderDefinitions } from './order.ts'

const [, , store = '', ledger = '', id = ''] = process.argv

process.on('disconnect', () => process.exit(0))
const engine = await open(store, orderDefinitions(ledger))
const worker = engine.work({ id, lease: '2s', signals: false })
await worker.ready
process.send?.('ready')
