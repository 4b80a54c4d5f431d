import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

async function scriptFor(shell: string): Promise<string> {
  await using cli = await CommandLine.open()
  const { code, stdout, stderr } = await cli.pawl('completion', shell)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** What bash offers for the last of these words. */
function completed(script: string, ...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(' ')
  const ask = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _pawl; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', ask], { encoding: 'utf8' })
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes verbs, flags, statuses and verbs of verbs', async () => {
  const script = await scriptFor('bash')
  expect(completed(script, 'pawl', 'ru')).toEqual(['runs', 'run'])
  expect(completed(script, 'pawl', 'runs', '--st')).toEqual(['--status', '--store'])
  expect(completed(script, 'pawl', 'runs', '--status', 'pa')).toEqual(['paused'])
  expect(completed(script, 'pawl', 'runs', '--store', 'sq')).toEqual([])
  expect(completed(script, 'pawl', 'token', '')).toEqual(expect.arrayContaining(['create', 'list', 'revoke']))
  expect(completed(script, 'pawl', 'token', 'create', '--sc')).toEqual(['--scope'])
  expect(completed(script, 'pawl', 'token', 'create', 'bot', '--scope', '')).toEqual(['read', 'operate', 'admin'])
  expect(completed(script, 'pawl', 'completion', '--h')).toEqual(['--help'])
})

test('the scripts of the other shells have the same words', async () => {
  const zsh = await scriptFor('zsh')
  expect(zsh).toMatch(/^#compdef pawl\n/)
  expect(zsh).toMatch(/'pawl token create --scope'\) compadd -- read operate admin/)
  const fish = await scriptFor('fish')
  expect(fish).toMatch(
    /^complete -c pawl -n 'not __fish_seen_subcommand_from .*' -a runs -d 'list runs, newest first'$/m,
  )
  expect(fish).toMatch(/from token; and __fish_seen_subcommand_from create' -l scope -x -a 'read operate admin'/)
})

test('an unknown shell is refused', async () => {
  await using cli = await CommandLine.open()
  const { code, stderr } = await cli.pawl('completion', 'tcsh')
  expect(code).toBe(2)
  expect(stderr).toMatch(/bash, zsh, fish/)
})
