// What an operator does from the command line: one scene with a worker, and one with schedules.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { open, workflow } from 'pawl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const shop = `
import { existsSync } from 'node:fs'
const go = pawl.signal('go')
const charge = pawl.activity('charge', { retry: 'none' }, async (cents) => {
  if (!existsSync('open')) throw new Error('the shop is closed')
  return 'charged ' + cents
})
export const order = pawl.workflow('order', async (ctx, cents) => {
  const receipt = await ctx.run(charge, cents)
  return { receipt, shipped: await ctx.run('ship', () => 'by sea') }
})
export const wait = pawl.workflow('wait', async (ctx) => ctx.wait(go))
export default [charge]
`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function does(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.pawl(...args)
  expect(stderr.replace(/^note: .*\n/gm, '')).toBe('')
  expect(code).toBe(0)
  return stdout
}

test('V9 V11: a run is retried, reset, forked, paused, resumed and terminated', {
  timeout: 60_000,
}, async () => {
  const worker = cli.begin('worker', await cli.define('shop.ts', shop))
  await worker.prints('is working')
  await does('start', 'order', '5', '--workflow-id', 'a')
  await cli.reaches('a', 'failed')
  await writeFile(join(cli.folder, 'open'), '')
  expect(await does('retry', 'a')).toMatch(/is retried from where it stopped/)
  await cli.reaches('a', 'completed')
  expect(await does('reset', 'a', 'ship')).toMatch(/is reset to ship/)
  await cli.reaches('a', 'completed')
  const forked = await does('fork', 'a', 'ship', '--result', 'charge="paid in cash"')
  const runId = /forked run (\S+) from/.exec(forked)?.[1] ?? ''
  const engine = await open(cli.store)
  expect(await engine.get(runId).result()).toEqual({ receipt: 'paid in cash', shipped: 'by sea' })
  await engine.close()
  const unknown = await cli.pawl('reset', 'a', 'refund')
  expect(unknown.stderr).toMatch(/there is no step 'refund'.*activity:charge#1.*\(INPUT_INVALID\)/)

  await does('start', 'wait', '--workflow-id', 'w')
  await cli.reaches('w', 'waiting')
  await does('pause', 'w', '--note', 'looking into it')
  await cli.reaches('w', 'paused')
  expect(await does('why', 'w')).toMatch(/Paused by hand: looking into it[\s\S]*pawl resume/)
  await does('resume', 'w')
  await cli.reaches('w', 'waiting')
  await does('terminate', 'w', '--reason', 'enough')
  await cli.reaches('w', 'failed')

  const lines = (await does('export', '--workflow', 'order')).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { status: string }).status)).toEqual(['completed', 'completed'])
  expect(await readFile(join(cli.folder, 'open'), 'utf8')).toBe('')
})

test('T5: schedules are listed, paused with a note, triggered and deleted', async () => {
  const engine = await open(cli.store)
  const tick = workflow.declare('tick')
  await engine.schedules.set('nightly', { cron: '0 2 * * *', workflow: tick })
  await engine.close()
  expect(await does('schedules')).toMatch(/nightly +tick +0 2 \* \* \*/)
  expect(await does('schedule', 'trigger', 'nightly')).toMatch(/run \S+ started/)
  await does('schedule', 'pause', 'nightly', '--note', 'holiday')
  const { stderr } = await cli.pawl('schedule', 'stop', 'nightly')
  expect(stderr).toMatch(/unknown verb 'stop'; expected describe, update, pause.*\(INPUT_INVALID\)/)
  const worker = cli.begin(
    'worker',
    await cli.define('none.ts', 'export const a = pawl.workflow("tick", async () => 1)'),
  )
  await worker.prints('is working')
  await expect.poll(() => does('schedules'), { timeout: 20_000 }).toMatch(/paused +holiday/)
  await does('schedule', 'delete', 'nightly')
  await expect.poll(() => does('schedules'), { timeout: 20_000 }).toMatch(/No schedules/)
})

test('api gap 11: a schedule is described and changed in part', async () => {
  const engine = await open(cli.store)
  const tick = workflow('tick', async (_ctx, n: number) => n)
  await engine.schedules.set('nightly', {
    timings: [
      { cron: '0 2 * * *', timeZone: 'Europe/Berlin' },
      { every: '45m', offset: '5m' },
    ],
    workflow: tick,
    input: 1,
    catchUp: 'all',
    catchUpWindow: '1h',
    jitter: '1s',
  })
  await engine.close()
  const when = '0 2 \\* \\* \\* Europe/Berlin; every 45m \\+ 5m'
  expect(await does('schedules')).toMatch(new RegExp(`nightly +tick +${when} .* all within 1h`))
  const told = await does('schedule', 'describe', 'nightly')
  expect(told).toMatch(/^nightly +active$/m)
  expect(told).toMatch(/when +0 2 \* \* \* Europe\/Berlin\n +every 45m \+ 5m$/m)
  expect(told).toMatch(/overlap +allow\n +catch-up +all within 1h\n +next +\S.*\n +input +1$/m)
  expect(JSON.parse(await does('schedule', 'describe', 'nightly', '--json'))).toMatchObject({
    plan: { workflow: 'tick', input: 1, catchUpWindow: '1h' },
    recent: [],
  })
  const update = (...options: string[]) => cli.pawl('schedule', 'update', 'nightly', ...options)
  for (const [options, message] of [
    [[], /nothing to change. Give an option, such as --cron/],
    [['--to', '2026-01-01'], /'update' has no option --to/],
    [['--clear', 'jiter'], /unknown option `jiter` .*did you mean `jitter`/],
    [['--jitter', '5s', '--clear', 'jitter'], /both --jitter and --clear jitter are given/],
    [['--until', 'soon'], /option `until` of a change of a schedule/],
    [['--input', '{'], /It is not JSON/],
  ] as const) {
    const { code, stderr } = await update(...options)
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  }
  const file = await cli.define('tick.ts', 'export const a = pawl.workflow("tick", async () => 1)')
  await cli.begin('worker', file).prints('is working')
  await does('schedule', 'update', 'nightly', '--cron', '0 3 * * *', '--cron', '@weekly')
  await does('schedule', 'update', 'nightly', '--time-zone', 'Asia/Tokyo', '--clear', 'jitter')
  const options = ['--catch-up-window', '2h', '--input', '[2]', '--until', '2040-01-01', '--json']
  expect(JSON.parse(await does('schedule', 'update', 'nightly', ...options))).toMatchObject({
    id: 'nightly',
  })
  const plan = async (): Promise<unknown> =>
    (JSON.parse(await does('schedule', 'describe', 'nightly', '--json')) as { plan: unknown }).plan
  const expected = {
    cron: ['0 3 * * *', '@weekly'],
    timeZone: 'Asia/Tokyo',
    workflow: 'tick',
    input: [2],
    overlap: 'allow',
    catchUp: 'all',
    catchUpWindow: '2h',
    until: '2040-01-01T00:00:00.000Z',
  }
  await expect.poll(plan, { timeout: 20_000 }).toEqual(expected)
  await does('schedule', 'update', 'nightly', '--every', '10m', '--every', '45m')
  const timings = [{ every: '10m' }, { every: '45m' }]
  await expect.poll(plan, { timeout: 20_000 }).toMatchObject({ timings, input: [2] })
})

test('faults 2.4: after each take-over, why says which attempt is running', {
  timeout: 60_000,
}, async () => {
  const file = await cli.define(
    'slow.ts',
    `import { appendFileSync } from 'node:fs'
export const slow = pawl.workflow('slow', async (ctx) => ctx.run('step', async ({ attempt }) => {
  appendFileSync('begun', attempt + '\\n')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
}))`,
  )
  await does('start', 'slow', '--workflow-id', 's')
  const engine = await open(cli.store)
  for (const attempt of [1, 2, 3]) {
    const worker = cli.begin('worker', file, '--lease', '500ms')
    const begun = (): Promise<string> => readFile(join(cli.folder, 'begun'), 'utf8').catch(() => '')
    await expect.poll(begun, { timeout: 20_000 }).toMatch(new RegExp(`^${attempt}$`, 'm'))
    await expect
      .poll(() => engine.get({ workflowId: 's' }).why(), { timeout: 20_000 })
      .toMatchObject({ reason: 'activity', attempt })
    worker.kill('SIGKILL')
    await worker.ended
  }
  await engine.close()
})
