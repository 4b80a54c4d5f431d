// A worker with nothing to do, that counts its calls to the store.
// Usage: node test/load/idle-worker.ts <store url> <entry point>
const [, , store = '', entry = ''] = process.argv

process.on('disconnect', () => process.exit(0))
// The source and the built package are the same module to the compiler.
const pawl = (await import(entry)) as typeof import('../../src/index.ts')
const sleeper = pawl.workflow('sleeper', async (ctx, ms: number) => {
  await ctx.sleep(ms)
  return ms
})
const engine = await pawl.open(store, { workflows: [sleeper], build: 'load' })
const calls: Record<string, number> = {}
engine.on('store.call', ({ method }) => {
  calls[method] = (calls[method] ?? 0) + 1
})
const worker = engine.work({ signals: false })
await worker.ready
process.on('message', () => process.send?.(calls))
process.send?.('ready')
