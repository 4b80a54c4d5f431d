// Commands that print what happens until they are stopped, or the run ends: on a store, and over HTTP.
import { type Engine, open, signal, workflow } from 'pawl'
import { type Server, server } from 'pawl/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const go = signal<string>('go')
const order = workflow('order', async (ctx) => {
  const said = await ctx.wait(go)
  return ctx.run('pay', () => said)
})

let cli: CommandLine
let engine: Engine
let api: Server

beforeEach(async () => {
  cli = await CommandLine.open()
  engine = await open(cli.store, { workflows: [order] })
  engine.work({ signals: false })
  api = server(engine)
})
afterEach(async () => {
  await api.close()
  await engine.close()
  await cli[Symbol.asyncDispose]()
})

describe.each(['--store', '--url'] as const)('with %s', (flag) => {
  async function place(): Promise<readonly string[]> {
    return [flag, flag === '--store' ? cli.store : (await api.listen({ port: 0 })).url]
  }

  test('tail prints the history of a run while it happens, and ends with the run', async () => {
    const run = await engine.start(order, undefined, { workflowId: 'a/1' })
    const tail = cli.begin('tail', 'a/1', ...(await place()))
    await tail.prints("Waiting for signal 'go'")
    await tail.prints('WaitStarted')
    await run.signal(go, 'now')
    const { code, stdout } = await tail.ended
    expect(stdout).toMatch(/SignalReceived +go\n[^]*StepCompleted +step:pay#1\n[^]*RunCompleted\ncompleted\n$/)
    expect(code).toBe(0)
  })

  test('tail --json prints one JSON text per line, with payloads', async () => {
    const run = await engine.start(order, undefined, { workflowId: 'b' })
    const tail = cli.begin('tail', 'b', '--json', ...(await place()))
    await tail.prints('WaitStarted')
    await run.signal(go, 'now')
    const { stdout } = await tail.ended
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; data: object })
    const history = events.filter(({ event }) => event === 'history').map(({ data }) => data)
    expect(history).toMatchObject([
      { seq: 0, type: 'RunStarted' },
      { seq: 1, type: 'WaitStarted' },
      { seq: 2, type: 'SignalReceived', payload: 'now' },
      { seq: 3, type: 'StepStarted' },
      { seq: 4, type: 'StepCompleted', result: 'now' },
      { seq: 5, type: 'RunCompleted', output: 'now' },
    ])
    expect(events.at(-1)).toMatchObject({ event: 'end', data: { status: 'completed' } })
  })

  test('runs --watch prints a line whenever a run changes', async () => {
    const where = await place()
    const watch = cli.begin('runs', '--watch', '--workflow', 'order', ...where)
    const lines = cli.begin('runs', '--watch', '--json', '--status', 'completed', ...where)
    await lines.prints('{"event":"caughtUp"')
    const run = await engine.start(order, undefined, { workflowId: 'c' })
    await watch.matches(/order {2}c {2}waiting/)
    await run.signal(go, 'now')
    await watch.matches(/order {2}c {2}completed/)
    await lines.matches(/^{"event":"run".*"workflowId":"c"/m)
    watch.kill('SIGTERM')
    lines.kill('SIGTERM')
  })
})
