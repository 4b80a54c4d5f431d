// A server with a worker, for clients of other releases. Prints its address; ends with its input.
// Usage: node test/crash/wire-server.ts <store url> <token>
import { activity, open, query, signal, update, workflow } from '../../src/index.ts'
import { server } from '../../src/server/index.ts'

const [, , store = '', token = ''] = process.argv
const [go, add, sum] = [signal<number>('go'), update<number, number>('add'), query<undefined, number>('sum')]
const charge = activity('charge', async (cents: number) => cents + 1)
const order = workflow('order', async (ctx, cents: number) => {
  let total = await ctx.run(charge, cents)
  ctx.on(add, (more: number) => (total += more))
  ctx.on(sum, () => total)
  const heard = await ctx.wait(go)
  return { total: total + heard, due: new Date(0) }
})
const fails = workflow('fails', async () => {
  throw new Error('as planned')
})
const engine = await open(store, { workflows: [order, fails], activities: [charge] })
engine.work({ signals: false })
const { url } = await server(engine, { token }).listen({ port: 0 })
console.log(url)
process.stdin.on('end', () => process.exit(0)).resume()
