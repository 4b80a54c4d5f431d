// The command line on a store whose bodies are encoded.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const codecs = pathToFileURL(join(import.meta.dirname, '../../src/addons/codecs/index.ts')).href
const coding = `
import { compress, encrypt } from '${codecs}'
export const codecs = [compress(), encrypt({ keys: { k1: '${'ab'.repeat(32)}' }, current: 'k1' })]
`
const greeting = `
const go = pawl.signal('go')
export const greet = pawl.workflow('greet', async (ctx, name) => [name, await ctx.wait(go)])
`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function waits(): Promise<void> {
  await expect
    .poll(() => cli.pawl('why', 'ada', '--codecs', 'codecs.ts'), { timeout: 20_000 })
    .toMatchObject({ stdout: expect.stringMatching(/Waiting for signal 'go'/) })
}

test('P12: a file of definitions brings its codecs along, and other commands are told of them', async () => {
  await cli.define('codecs.ts', coding)
  await cli.define('greeting.ts', `export { codecs } from './codecs.ts'\n${greeting}`)
  const worker = cli.begin('worker', 'greeting.ts')
  await worker.prints('is working')
  const named = ['--workflow-id', 'ada', '--codecs', 'codecs.ts']
  expect(await cli.pawl('start', 'greet', '"Ada"', ...named)).toMatchObject({ code: 0 })
  await waits()
  const shown = await cli.pawl('run', 'ada', '--codecs', 'codecs.ts')
  expect(shown.stdout).toMatch(/input +'Ada'/)
  // Without them a run is found, and says what it takes to read it.
  expect((await cli.pawl('runs')).stdout).toMatch(/greet +ada +waiting/)
  const blind = await cli.pawl('run', 'ada')
  expect(blind.stdout.replace(/\s+/g, ' ')).toMatch(/unreadable .*encrypt:k1.*--codecs <file>/)
  expect(await cli.pawl('why', 'ada')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/CODEC_MISSING/),
  })
  await cli.pawl('signal', 'ada', 'go', '"hello"', '--codecs', 'codecs.ts')
  await expect
    .poll(() => cli.pawl('run', 'ada', '--codecs', 'codecs.ts'), { timeout: 20_000 })
    .toMatchObject({ stdout: expect.stringMatching(/result +\[?.*hello/) })
  const checked = await cli.pawl('check', 'greeting.ts')
  expect(checked).toMatchObject({ code: 0 })
})

test('P12: a file without codecs, and two that differ, are refused', async () => {
  await cli.define('codecs.ts', coding)
  await cli.define('other.ts', `${coding}\n${greeting}`)
  await cli.define('plain.ts', greeting)
  expect(await cli.pawl('start', 'greet', '--codecs', 'plain.ts')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/exports no codecs.*DEFINITION_INVALID/),
  })
  expect(await cli.pawl('worker', 'codecs.ts', 'other.ts')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/different codecs.*DEFINITION_CONFLICT/),
  })
})
