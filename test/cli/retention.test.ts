// P14: the commands of the retention use the store that they are given, wherever its option stands.
import { join } from 'node:path'
import { open } from 'pawl'
import { expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

test('P14: retention set, show and remove use --store, and leave the default store alone', async () => {
  await using cli = await CommandLine.open()
  const [here, there] = ['pawl.db', 'prod.db'].map((name) => `sqlite:${join(cli.folder, name)}`) as [string, string]
  for (const url of [here, there]) await (await open(url)).close()
  const does = async (...args: readonly string[]): Promise<string> => {
    const ended = await cli.pawl('retention', ...args)
    expect(ended, args.join(' ')).toMatchObject({ code: 0 })
    return ended.stdout
  }
  expect(await does('set', '--keep', '1d', '--failed', '9d', '--store', there)).toContain('keep for 1d, failed for 9d')
  expect(JSON.parse(await does('set', '--failed', '5d', '--store', there, '--json'))).toMatchObject({
    keep: '1d',
    failed: '5d',
  })
  expect(await does('set', '--newest', '7', '--workflow', 'tick', '--store', there)).toContain('tick: at most 7')
  expect(await does('--store', there)).toMatch(/keep for 1d, failed for 5d[^]*tick +at most 7/)
  expect(JSON.parse(await does('show', '--store', here, '--json'))).toBeNull()
  expect(await does('remove', '--store', there)).toContain('kept forever')
  expect(await does('--store', there)).toContain('No policy')
})
