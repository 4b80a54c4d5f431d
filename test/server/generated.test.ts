// A client that a stranger's generator makes from the OpenAPI document. The generator needs a TypeScript of its own.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { document } from './answers.ts'
import { openWorld } from './support.ts'

const execute = promisify(execFile)
const find = createRequire(join(import.meta.dirname, 'generated', 'package.json'))

/** The folder of an installed package. */
function folderOf(name: string, from = find): string {
  const parts = from.resolve(name).split('/node_modules/')
  return `${parts.slice(0, -1).join('/node_modules/')}/node_modules/${name}`
}

const program = `
import createClient from 'openapi-fetch'
import type { paths } from './api.d.ts'

const [baseUrl = '', token = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } })
const { data, error } = await client.POST('/api/v1/runs', { body: { workflow: 'double', input: 1 } })
if (!data) throw new Error(error.code + ': ' + error.detail)
const run: string = data.runId
const result = await client.GET('/api/v1/runs/{run}/result', { params: { path: { run }, query: { wait: '10s' } } })
console.log(result.data?.status, result.data?.['output'])
const missing = await client.GET('/api/v1/runs/{run}', { params: { path: { run: 'w:none' } } })
console.log(missing.error?.code)
// @ts-expect-error a name is a text
await client.POST('/api/v1/runs', { body: { workflow: 1, input: 1 } })
// @ts-expect-error a run is needed
await client.GET('/api/v1/runs/{run}', {})
// @ts-expect-error there is no such path
await client.GET('/api/v1/nothing', {})
`

test('I3 I7: a client made by openapi-typescript compiles, starts a run and reads its result', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-generated-'))
  const fetcher = folderOf('openapi-fetch')
  await mkdir(join(folder, 'node_modules', '@types'), { recursive: true })
  await symlink(fetcher, join(folder, 'node_modules', 'openapi-fetch'))
  const types = dirname(createRequire(import.meta.url).resolve('@types/node/package.json'))
  await symlink(types, join(folder, 'node_modules', '@types', 'node'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
  await writeFile(join(folder, 'client.ts'), program)
  const generator = join(folderOf('openapi-typescript'), 'bin', 'cli.js')
  await execute('node', [generator, 'openapi.json', '-o', 'api.d.ts'], { cwd: folder })
  const strict = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--skipLibCheck',
    '--allowImportingTsExtensions',
  ]
  await execute('node', [find.resolve('typescript/bin/tsc'), ...strict, 'client.ts'], { cwd: folder }).catch(
    (error: unknown) => {
      throw new Error((error as { stdout: string }).stdout)
    },
  )

  await using world = await openWorld()
  const { token } = await world.api.tokens.create({ name: 'generated', scope: 'operate', namespace: 'default' })
  const { url } = await world.api.listen({ port: 0 })
  const { stdout } = await execute('node', ['client.ts', url, token], { cwd: folder })
  expect(stdout).toBe('completed 2\nRUN_NOT_FOUND\n')
  await rm(folder, { recursive: true })
}, 60_000)
