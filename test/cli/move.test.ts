// `pawl move` between a file and a folder.
import { join } from 'node:path'
import { open, signal, workflow } from 'pawl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine, type Ended } from './command-line.ts'

const go = signal<string>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))
const other = workflow('other', async (ctx) => ctx.wait(go))
const workflows = [waits, other]

let cli: CommandLine
let from: string
let to: string

beforeEach(async () => {
  cli = await CommandLine.open()
  from = `sqlite:${join(cli.folder, 'trial.db')}`
  to = `file:${join(cli.folder, 'objects')}`
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

function move(...args: string[]): Promise<Ended> {
  return cli.pawl('move', '--from', from, '--to', to, ...args)
}

test('pawl move counts, moves some runs, then all, and says where they are', async () => {
  const engine = await open(from as 'sqlite:', { workflows })
  for (const id of ['a', 'b', 'c']) await engine.start(waits, undefined, { workflowId: id })
  await engine.start(other, undefined, { workflowId: 'd' })
  await engine.close()
  expect((await move('--dry-run')).stdout).toMatch(/^4 runs would move from sqlite:\/.*trial.db to file:\/.*objects;/)
  expect((await move('--workflow', 'other')).stdout).toMatch(/^1 run moved from sqlite:/)
  const { stdout, code } = await move('--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ moved: 3, refused: [], codecs: [], to })
  const left = await cli.pawl('run', 'a', '--store', from, '--json')
  expect(left.stdout).toContain('"movedTo"')
  const late = await cli.pawl('signal', 'a', 'go', '"x"', '--store', from)
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('RUN_MOVED')])
  expect((await cli.pawl('why', 'a', '--store', from)).stdout).toContain(`It goes on in ${to}`)
  expect((await cli.pawl('signal', 'a', 'go', '"x"', '--store', to)).code).toBe(0)
  const there = await open(to as 'file:', { workflows })
  there.work({ signals: false })
  expect(await there.get({ workflowId: 'a' }).result()).toBe('x')
  await there.close()
})

test('pawl move says what stays, and refuses places that cannot be', async () => {
  for (const url of [from, to]) {
    const engine = await open(url as 'file:', { workflows })
    await engine.start(waits, undefined, { workflowId: 'same' })
    await engine.close()
  }
  const stays = await move()
  expect(stays.code).toBe(1)
  expect(stays.stdout).toMatch(/stays \(taken\): run .* with workflow id 'same' is in progress in file:/)
  expect((await move('--abort')).stdout).toMatch(/^0 runs released/)
  const wrong: readonly (readonly [string, string, string])[] = [
    [from, from, 'INPUT_INVALID'],
    [from, 'memory:', 'STORE_URL_INVALID'],
    [`sqlite:${join(cli.folder, 'none.db')}`, to, 'STORE_URL_INVALID'],
  ]
  for (const [source, target, problem] of wrong) {
    const refused = await cli.pawl('move', '--from', source, '--to', target)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(problem)])
  }
  const both = await move('--abort', '--dry-run')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('INPUT_INVALID')])
})
