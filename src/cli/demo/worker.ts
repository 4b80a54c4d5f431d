// The worker process that the demo kills. It exits when the demo does, however the demo ends.
import { open } from '../../index.ts'
import { orderDefinitions } from './order-workflow.ts'

const [, , store = '', ledger = '', id = ''] = process.argv

process.on('disconnect', () => process.exit(0))
const engine = await open(store, orderDefinitions(ledger))
const worker = engine.work({ id, lease: '2s', signals: false })
await worker.ready
process.send?.('ready')
