// A worker for one long run. Each step body writes a line before it gives its result.
// Usage: node test/load/long-worker.ts <store url> <ledger file>
import { appendFileSync, openSync } from 'node:fs'
import { open, workflow } from '../../src/index.ts'

const [, , store = '', file = ''] = process.argv

process.on('disconnect', () => process.exit(0))
const ledger = openSync(file, 'a')
const long = workflow('long', async (ctx, steps: number) => {
  let sum = 0
  for (let n = 1; n <= steps; n++) {
    sum += await ctx.run('step', () => {
      appendFileSync(ledger, `${n}\n`)
      return n
    })
  }
  return sum
})
const engine = await open(store, { workflows: [long], build: 'load' })
const worker = engine.work({ lease: '2s', signals: false })
await worker.ready
process.send?.('ready')
