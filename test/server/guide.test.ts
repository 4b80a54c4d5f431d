// The programs of docs/guides/http-server.md run as they are, and print what their comments say.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const page = await readFile(join(root, 'docs', 'guides', 'http-server.md'), 'utf8')
const programs = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-guide-'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})

afterAll(() => rm(folder, { recursive: true }))

/** The package as users import it is built; these programs use the source. */
function onSource(code: string): string {
  const entry = (name: string): string => JSON.stringify(join(root, 'src', name))
  return code.replaceAll(`'pawl/server'`, entry('server/index.ts')).replaceAll(`'pawl'`, entry('index.ts'))
}

test('the page has a program for each way to serve', () => {
  for (const name of ['hono', 'express', 'fastify', 'api.listen', 'tokens.create', 'answer as GET'])
    expect(
      programs.filter((code) => code.includes(name)),
      name,
    ).not.toEqual([])
})

test.each(programs.map((code, at) => [at + 1, code] as const))('program %i', async (at, code) => {
  const file = join(folder, `program-${at}.ts`)
  const ends = code.includes('engine.close()') ? code : `${code}\nawait engine.close()\n`
  await writeFile(file, onSource(ends))
  const { stdout } = await execute('node', [file], { cwd: folder, timeout: 20_000 })
  const promised = [...code.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, text = '']) => text)
  const said = stdout.replace(/\s+/g, ' ')
  expect(promised.length).toBeGreaterThan(code.includes('console.log') ? 0 : -1)
  for (const text of promised.flatMap((each) => each.split('…'))) expect(said).toContain(text.trim())
})
