// `pawl work`: one call that works until nothing is due, here and on a server.
import { open, workflow } from 'pawl'
import { connect } from 'pawl/client'
import { server } from 'pawl/server'
import { expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const shop = `
export const order = pawl.workflow('order', async (ctx, cents) => {
  await ctx.sleep(20)
  return ctx.run('pay', () => cents)
})
export const later = pawl.workflow('later', async (ctx) => ctx.sleep('1h'))`

test('W14: pawl work completes what is due, says when something is next due, and ends', async () => {
  await using cli = await CommandLine.open()
  await cli.define('shop.ts', shop)
  await cli.pawl('start', 'order', '5', '--workflow-id', 'a')
  await cli.pawl('start', 'later', '--workflow-id', 'b')
  const done = await cli.pawl('work', 'shop.ts')
  expect(done.stdout).toMatch(/nothing is due\.[^]*ended +1 run, 1 step, in \d+ turns[^]*next +in (59min|1 h|60 min)/)
  expect(done.code).toBe(0)
  expect((await cli.pawl('workers')).stdout).toMatch(/No worker uses this store/)
  const again = JSON.parse((await cli.pawl('work', 'shop.ts', '--json')).stdout) as object
  expect(again).toMatchObject({ ended: 'idle', runs: 0, nextDue: expect.any(String) })
  const wrong = await cli.pawl('work', 'shop.ts', '--for', '1ms')
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('expected 500 ms to 1 h') })
  expect(await cli.pawl('work')).toMatchObject({ code: 2, stderr: expect.stringContaining('no file is given') })
})

test('W14: pawl work --url lets a server work that has the code; others refuse', async () => {
  await using cli = await CommandLine.open()
  const order = workflow('order', async (ctx, cents: number) => ctx.run('pay', () => cents))
  const engine = await open(cli.store, { workflows: [order] })
  const run = await engine.start(order, 5)
  const [api, elsewhere] = [server(engine), server(engine, { query: async () => 1 })]
  const { url } = await api.listen({ port: 0 })
  const done = await cli.pawl('work', '--url', url, '--for', '5s')
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('1 run, 1 step') })
  expect(await run.result()).toBe(5)
  await using client = connect(url)
  expect(await client.workUntilIdle({ for: '5s' })).toMatchObject({ ended: 'idle', runs: 0 })
  const file = await cli.pawl('work', 'shop.ts', '--url', url)
  expect(file).toMatchObject({ code: 2, stderr: expect.stringContaining('the file shop.ts is for a worker') })
  await using other = connect((await elsewhere.listen({ port: 0 })).url)
  await expect(other.workUntilIdle()).rejects.toMatchObject({ code: 'NOT_SUPPORTED' })
  await Promise.all([api.close(), elsewhere.close()])
  await engine.close()
})
