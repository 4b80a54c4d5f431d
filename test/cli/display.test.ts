// What `pawl run`, `steps` and `why` show of a run, and what `check` says about new code.
import { open, signal, workflow } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

const go = signal('go')

describe('signals and conditions of a run that has ended', () => {
  const handled = workflow('handled', async (ctx) => {
    let went = false
    ctx.on(go, () => {
      went = true
    })
    return ctx.wait(() => went, { timeout: '1m' })
  })

  test('api D9: a condition that came true at the end is shown as completed, and a handled signal as arrived', async () => {
    const engine = await open(cli.store, { workflows: [handled] })
    await engine.work({ signals: false }).ready
    const run = await engine.start(handled, undefined, { workflowId: 'h' })
    await expect.poll(() => run.why()).toMatchObject({ reason: 'condition' })
    await run.signal(go)
    expect(await run.result()).toBe(true)
    await engine.close()
    const { stdout } = await cli.pawl('run', 'h')
    expect(stdout).toMatch(/✓ condition .* condition$/m)
    expect(stdout).toMatch(/✓ go .* signal, arrived$/m)
    expect(stdout).not.toMatch(/cancelled|called off|waited for/)
    expect((await cli.pawl('steps', 'h')).stdout).toMatch(/condition +condition +completed/)
  })

  test('users D5: a signal that was there before the first turn is not shown as waited for by nobody', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const engine = await open(cli.store, { workflows: [waits] })
    const run = await engine.start(waits, undefined, { workflowId: 'z' })
    await run.signal(go)
    await engine.work({ signals: false }).ready
    await run.result()
    await engine.close()
    const { stdout } = await cli.pawl('run', 'z')
    expect(stdout).toMatch(/✓ go .* signal, arrived$/m)
    expect(stdout).not.toMatch(/not waited for/)
  })

  test('wording 3: a branch that lost a race is shown as cancelled', async () => {
    const raced = workflow('raced', async (ctx) => {
      const won = await ctx.race({ slow: ctx.sleep('1h'), go: ctx.wait(go) })
      await ctx.run('ship', () => 'by sea')
      return won.winner
    })
    const engine = await open(cli.store, { workflows: [raced] })
    await engine.work({ signals: false }).ready
    const run = await engine.start(raced, undefined, { workflowId: 'r' })
    await run.signal(go)
    await run.result()
    await engine.close()
    expect((await cli.pawl('run', 'r')).stdout).toMatch(/- sleep .* sleep, cancelled$/m)
    expect((await cli.pawl('steps', 'r')).stdout).toMatch(/sleep +sleep +cancelled/)
  })
})

describe('code that was changed', () => {
  const before = `
const go = pawl.signal('go')
export const order = pawl.workflow('order', async (ctx) => {
  await ctx.run('pay', () => 1)
  await ctx.wait(go)
})
`

  test('users D3: steps behind a new one with ifPast are not said to be gone', async () => {
    await waiting(before)
    const added = before.replace(
      "await ctx.run('pay'",
      "await ctx.run('greet', { ifPast: 'run' }, () => 0)\n  await ctx.run('pay'",
    )
    const checked = await cli.pawl('check', await cli.define('added.ts', added))
    expect(checked).toMatchObject({ code: 0 })
    expect(checked.stdout).toMatch(/^1 run in progress in .*: 1 compatible, 0 incompatible/)
    const removed = before.replace("await ctx.run('pay', () => 1)\n", '')
    const gone = await cli.pawl('check', await cli.define('removed.ts', removed))
    expect(gone.stdout).toMatch(/recorded, but no longer in the code: step:pay#1/)
  })

  test('users D4: why keeps the lines of a mismatch, and check has the same ones', async () => {
    await waiting(before)
    const renamed = await cli.define('renamed.ts', before.replace("'pay'", "'charge'"))
    const worker = cli.begin('worker', renamed)
    await worker.prints('is working')
    await cli.pawl('signal', 'o', 'go')
    await cli.reaches('o', 'paused')
    const why = await cli.pawl('why', 'o')
    expect(why.stdout).toMatch(
      /^Paused: .* although it has recorded later steps.*\n +recorded: .*step:pay#1.*\n +requested: step:charge#1.*\n/,
    )
    const shown = why.stdout.split('\n').map((line) => line.trim())
    const checked = await cli.pawl('check', renamed)
    for (const line of checked.stdout
      .split('\n')
      .filter((each) => /^ +\S/.test(each))
      .slice(1))
      expect(shown).toContain(line.trim())
  })

  async function waiting(code: string): Promise<void> {
    const worker = cli.begin('worker', await cli.define('before.ts', code))
    await worker.prints('is working')
    await cli.pawl('start', 'order', '--workflow-id', 'o')
    await cli.reaches('o', 'waiting')
    worker.kill('SIGTERM')
    await worker.ended
  }
})

describe('what one looks for', () => {
  test('users friction 9: items are told apart, and their keys are those that fork and reset take', async () => {
    const item = workflow('ship_item', async (_ctx, name: string) => `shipped ${name}`)
    const order = workflow('order', async (ctx, names: string[]) =>
      ctx.map(names, { key: (name) => name }, async (own, name) => own.child(item, name)),
    )
    const engine = await open(cli.store, { workflows: [order, item] })
    await engine.work({ signals: false }).ready
    const names = ['rose', 'tulip']
    const run = await engine.start(order, names, { workflowId: 'o', memo: { by: 'Ada' } })
    await run.result()
    await engine.close()
    const { stdout } = await cli.pawl('run', 'o')
    expect(stdout).toMatch(/memo +\{ by: 'Ada' \}/)
    for (const name of names) expect(stdout).toMatch(new RegExp(`✓ \\S*${name}\\S*ship_item .* child`))
    const keys = (await cli.pawl('steps', 'o')).stdout.match(/map#1\[\w+\]\/child:\S*/g) ?? []
    expect(keys).toHaveLength(2)
    expect(await cli.pawl('fork', 'o', keys[0] ?? '')).toMatchObject({ code: 0 })
  })

  test('users friction 9: schedules show their time zone', async () => {
    const engine = await open(cli.store)
    await engine.schedules.set('nightly', {
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      workflow: workflow.declare('tick'),
    })
    await engine.close()
    expect((await cli.pawl('schedules')).stdout).toMatch(/nightly +tick +0 2 \* \* \* Europe\/Berlin/)
  })

  test('users friction 7: a workflow that no worker knows is told, with the one that was meant', async () => {
    const code = "export const order = pawl.workflow('checkout', async () => 1)"
    await cli.begin('worker', await cli.define('shop.ts', code)).prints('is working')
    const { stderr } = await cli.pawl('start', 'chekout')
    expect(stderr).toMatch(/^note: No living worker has code for 'chekout' .*did you mean 'checkout'\?/)
  })

  test('an activity that is started by its name, in a queue that is not its own, is told', async () => {
    const code = "export const a = pawl.activity('resize', { queue: 'images' }, async () => 1)"
    const file = await cli.define('images.ts', code)
    await cli.begin('worker', file, '--queue', 'images').prints('is working')
    const { stderr } = await cli.pawl('start', 'activity:resize')
    expect(stderr).toMatch(/on queue 'default'\. Workers on queue 'images' have it\..* --queue/)
    expect(await cli.pawl('start', 'activity:resize', '--queue', 'images')).toMatchObject({
      code: 0,
      stderr: '',
    })
  })
})
