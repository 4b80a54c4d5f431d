import { existsSync } from 'node:fs'
import { readdir, readFile, rm, truncate, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { activity, open, signal, workflow } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { openObjects } from '../../src/stores/objects/index.ts'
import { CommandLine, type Ended } from './command-line.ts'

const hello = activity('hello', async (name: string) => `hello ${name}`)
const greet = workflow('greet', async (ctx, name: string) => ctx.run(hello, name))

let cli: CommandLine
let folder: string

beforeEach(async () => {
  cli = await CommandLine.open()
  folder = join(cli.folder, 'data')
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

/** Two runs that have ended, as a worker leaves them. */
async function served(): Promise<void> {
  const engine = await open(`file:${folder}`, { workflows: [greet], activities: [hello] })
  engine.work({ signals: false })
  for (const name of ['Ada', 'Eve']) {
    const run = await engine.start(greet, name, { workflowId: name })
    await run.result()
  }
  await engine.close()
}

function doctor(...args: string[]): Promise<Ended> {
  return cli.pawl('doctor', '--store', `file:${folder}`, ...args)
}

async function files(inside: string): Promise<string[]> {
  const all = await readdir(join(folder, inside), { recursive: true, withFileTypes: true })
  return all.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
}

test('users D6: after a clean close no projection is missing or old, however much happened at once', async () => {
  const go = signal('go')
  const waits = workflow('waits', async (ctx) => {
    await ctx.wait(go)
    await ctx.wait(go)
  })
  const engine = await open(`file:${folder}`, { workflows: [waits] })
  engine.work({ signals: false })
  const runs = await engine.startMany(
    waits,
    Array.from({ length: 12 }, () => ({})),
  )
  for (const run of runs) await run.signal(go)
  for (const run of runs) await run.signal(go)
  for (const run of runs) await run.result()
  await engine.close()
  expect((await doctor()).stdout).toMatch(/projections +12 runs checked, 0 missing, 0 out of date\n/)
})

describe('a store that is well', () => {
  beforeEach(served)

  test('is reported line by line, and the exit code is 0', async () => {
    const { code, stdout, stderr } = await doctor()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^store +file:.*\nlog +\d+ objects \([\d,]+ bytes\) up to \d+\n/)
    expect(stdout).toMatch(/\nruns +0 live, 2 ended\n/)
    expect(stdout).toMatch(/\nprojections +2 runs checked, 0 missing, 0 out of date\n\nNo problems\.\n$/)
  })

  test('is reported as JSON, and nothing beside it', async () => {
    const { code, stdout } = await doctor('--json', '--all', '--sweep', '--rebuild')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      bucket: `file:${folder}`,
      runs: { live: 0, ended: 2 },
      problems: [],
      rebuilt: 0,
      swept: 0,
    })
  })

  test('gets back its projections by --rebuild', async () => {
    const before = new Map<string, string>()
    for (const file of [...(await files('runs')), ...(await files('names'))]) {
      before.set(file, await readFile(file, 'utf8'))
    }
    expect(before.size).toBe(6)
    for (const file of before.keys()) await rm(file)
    // users D6: that is not called well.
    const { stdout } = await doctor()
    expect(stdout).toMatch(/2 missing, 0 out of date \(to write them: pawl doctor --rebuild\)/)
    expect(stdout).toMatch(/\nNothing is lost, but 2 projections are out of date\./)
    expect(stdout).not.toContain('No problems')
    expect((await doctor('--rebuild')).stdout).toMatch(/\nrebuilt +6 objects written or deleted\n/)
    for (const [file, text] of before) expect(await readFile(file, 'utf8')).toBe(text)
  })

  test('loses by --sweep what a snapshot has long covered', async () => {
    const store = await openObjects(`file:${folder}`, systemClock)
    await store.compactor.snapshot()
    await store.close()
    const log = (await files('log')).length
    const anHourAgo = new Date(systemClock.now() - 3_600_000)
    expect((await doctor('--sweep')).stdout).toMatch(/\nswept +0 objects deleted \(objects needed within the last/)
    for (const file of [...(await files('snapshots')), ...(await files('log'))]) {
      await utimes(file, anHourAgo, anHourAgo)
    }
    const { stdout } = await doctor('--sweep')
    expect(stdout).toMatch(new RegExp(`\\nswept +${log} objects deleted`))
    const after = await doctor()
    expect(after).toMatchObject({ code: 0 })
    expect(after.stdout).toMatch(/\nruns +0 live, 2 ended\n/)
  })
})

test('damage is named, with what to do; nothing else is done, and the exit code is 1', async () => {
  await served()
  const [first = ''] = (await files('log')).toSorted()
  await truncate(first, 20)
  const { code, stdout, stderr } = await doctor('--rebuild', '--sweep')
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/\n1 problem:\n- log\/0+1\.jsonl is not readable: [^]*\n {4}Stop all workers/)
  expect(stdout).toMatch(/Nothing was rebuilt or swept/)
  const json = await doctor('--json')
  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({
    problems: [{ object: 'log/000000000001.jsonl', advice: expect.stringMatching(/restore the/) }],
  })
})

test('a folder that is not there is refused, and not made', async () => {
  const { code, stdout, stderr } = await doctor()
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^error: there is no folder .* \(STORE_URL_INVALID\)\n$/)
  expect(existsSync(folder)).toBe(false)
})

test.each([
  ['sqlite:./pawl.db', 1, /integrity_check.*\(NOT_SUPPORTED\)\n$/],
  ['postgres://me:secret@host/db', 1, /me:\*\*\*@.*pg_amcheck.*\(NOT_SUPPORTED\)\n$/],
  ['memory:', 1, /ends with its process.*\(NOT_SUPPORTED\)\n$/],
  ['nope:x', 2, /--store is 'nope:x'; pawl doctor expects s3:.*\(STORE_URL_INVALID\)\n$/],
] as const)('%s is refused in one line', async (store, expected, says) => {
  const { code, stdout, stderr } = await cli.pawl('doctor', '--store', store)
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  expect(stderr).toMatch(/^error: [^\n]*\n$/)
  expect(stderr).toMatch(says)
})
