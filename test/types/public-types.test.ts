// What the types of the package promise beyond single calls: no `any` reaches users, a definition can be exported from
// a package of theirs, and a durable promise that nobody awaits does not pass their linter.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseSource } from '../support/source-files.ts'
import { shortcutViolations } from '../support/tidy-rules.ts'

const root = join(import.meta.dirname, '..', '..')
const execute = promisify(execFile)
const typeRoots = [join(root, 'node_modules', '@types')]
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-types-'))
})
afterAll(() => rm(folder, { recursive: true }))

function program(name: string, ...args: string[]): Promise<{ stdout: string }> {
  return execute(join(root, 'node_modules', '.bin', name), args, { cwd: folder })
}

/** Writes the declarations of what `include` names, as a build of a package would. */
async function declarations(name: string, include: string): Promise<Map<string, string>> {
  const outDir = join(folder, name)
  const config = {
    extends: join(root, 'test', 'tsconfig.json'),
    compilerOptions: { noEmit: false, emitDeclarationOnly: true, outDir, typeRoots },
    include: [join(root, include)],
    exclude: [join(root, '**', '*.test.ts')],
  }
  const project = join(folder, `tsconfig.${name}.json`)
  await writeFile(project, JSON.stringify(config))
  await program('tsc', '-p', project)
  const paths = (await readdir(outDir, { recursive: true })).filter((path) => /\.d\.ts$/.test(path))
  const texts = paths.map(async (path) => readFile(join(outDir, path), 'utf8'))
  return new Map((await Promise.all(texts)).map((text, index) => [paths[index] ?? '', text]))
}

function anyIn(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) => shortcutViolations(parseSource({ path, text })))
}

test('no type that is exported contains any', { timeout: 120_000 }, async () => {
  const files = await declarations('package', 'src')
  const names = [...files.keys()]
  expect(names).toContain(join('src', 'index.d.ts'))
  expect(names).toContain(join('src', 'testing', 'index.d.ts'))
  expect(anyIn(files)).toEqual([])
})

test('definitions can be exported: their declarations name only what is public, and no any', {
  timeout: 120_000,
}, async () => {
  const files = await declarations('user', join('test', 'types'))
  const own = new Map([...files].filter(([path]) => path.startsWith('test')))
  expect(own.size).toBeGreaterThan(5)
  expect(anyIn(own)).toEqual([])
  const imported = [...own.values()].flatMap((text) => [...text.matchAll(/(?:from |import\()['"](.+?)['"]/g)])
  const modules = new Set(imported.map(([, module = '']) => module))
  expect([...modules].filter((each) => !/^(?:pawl|zod|\.\/)/.test(each))).toEqual([])
})

test('an any that is there is found', () => {
  const text = 'export interface Wide { readonly value: Map<string, any[]> }'
  expect(anyIn(new Map([['wide.d.ts', text]]))).toEqual(['wide.d.ts:1: the type any'])
})

const careless = `import { activity, signal, workflow } from 'pawl'
const ping = activity('ping', async () => 1)
const go = signal('go')
const other = workflow('other', async () => {})
export const careless = workflow('careless', async (ctx) => {
  ctx.sleep('1s')
  ctx.run(ping)
  ctx.run('inline', () => 1)
  ctx.wait(go)
  ctx.race({ late: ctx.sleep('1s') })
  ctx.child(other)
  await ctx.sleep('1s')
  await Promise.all([ctx.run(ping), ctx.child(other)])
})
`

test('the linter reports every durable promise that is not awaited', async () => {
  const paths = { pawl: [join(root, 'src', 'index.ts')] }
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: { types: [], paths },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await writeFile(join(folder, 'careless.ts'), careless)
  const rules = join(root, '.oxlintrc.json')
  const linted = program('oxlint', '--type-aware', '-c', rules, '--format', 'json', 'careless.ts')
  const { stdout } = await linted.catch((error: { stdout: string }) => error)
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
  const found = diagnostics.map(({ code, labels }) => `${code} ${labels[0]?.span.line}`)
  const rule = 'typescript(no-floating-promises)'
  expect(found).toEqual([6, 7, 8, 9, 10, 11].map((line) => `${rule} ${line}`))
})

interface Diagnostic {
  readonly code: string
  readonly labels: readonly { readonly span: { readonly line: number } }[]
}
