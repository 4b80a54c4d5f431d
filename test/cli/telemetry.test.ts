// Metrics and JSON logs of real processes: a worker without a server, and a server whose code is in another process.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { open, workflow } from 'pawl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { samplesOf } from '../telemetry/scrape.ts'
import { until } from '../workflows/each-store.ts'
import { CommandLine } from './command-line.ts'

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

const flow = `
const hello = pawl.activity('hello', async (name, ctx) => {
  ctx.log.info('greeting', { name })
  if (ctx.attempt === 1) throw new Error('not yet\\nforged')
  return 'hello ' + name
})
export const greet = pawl.workflow('greet', async (ctx, name) =>
  ctx.run(hello, name, { retry: { maxAttempts: 2, initial: '1ms' } }))
export default [hello]
`
const greet = workflow.declare<string, string>('greet')
const ended = 'pawl_runs_ended_total{workflow="greet",status="completed"}'

async function greetOnce(): Promise<void> {
  const client = await open(cli.store)
  expect(await client.execute(greet, 'Ada')).toBe('hello Ada')
  await client.close()
}

function scraped(url: string): Promise<ReadonlyMap<string, number>> {
  return until(
    async () => samplesOf(await (await fetch(url)).text()),
    (samples) => samples.get(ended) === 1,
  )
}

test('O7: a worker without a server serves its metrics, and logs JSON', async () => {
  const file = await cli.define('flow.ts', flow)
  const args = ['--store', cli.store, '--metrics', '0', '--log', 'json', '--id', 'w1']
  const program = cli.begin('worker', file, ...args)
  const url = await program.matches(/metrics {5}(http:\S+)/)
  await greetOnce()
  const samples = await scraped(url)
  expect(samples.get('pawl_activity_retries_total{activity="hello"}')).toBe(1)
  expect(samples.get('pawl_worker_backpressure{worker="w1"}')).toBe(0)
  expect((await fetch(new URL('/', url))).status).toBe(404)
  program.kill('SIGTERM')
  const { stderr } = await program.ended
  const lines = stderr.trim().split('\n')
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(logged.filter(({ message }) => message === 'greeting')).toMatchObject([
    { level: 'info', worker: 'w1', step: 'activity:hello#1', attempt: 1, fields: { name: 'Ada' } },
    { attempt: 2 },
  ])
})

test('O7: a server tells the metrics of the process with the code, too', async () => {
  const file = await cli.define('flow.ts', flow)
  const listen = ['--store', cli.store, '--module', file, '--listen', '0', '--log', 'json']
  const program = cli.begin('serve', ...listen)
  const url = await program.matches(/serves (http:\S+)\/api/)
  await greetOnce()
  const samples = await scraped(`${url}/metrics`)
  expect(samples.get('pawl_activities_ended_total{activity="hello",outcome="completed"}')).toBe(1)
  expect(samples.get('pawl_workers{status="alive"}')).toBe(1)
  program.kill('SIGTERM')
  const { stderr } = await program.ended
  expect(stderr).toContain('"message":"greeting"')
})

test('a wrong place for metrics is refused before the worker starts', async () => {
  const file = await cli.define('flow.ts', flow)
  const wrong = await cli.pawl('worker', file, '--store', cli.store, '--metrics', 'here')
  expect([wrong.code, wrong.stderr]).toMatchObject([2, expect.stringContaining("--metrics 'here' is no place")])
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const refused = await cli.pawl('worker', file, '--store', cli.store, '--metrics', String(port))
  expect([refused.code, refused.stderr]).toMatchObject([2, expect.stringContaining('--metrics cannot listen')])
  taken.close()
})
