// What `pawl init` writes works with the package of this repository: its test, its types, its worker and its start.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const root = join(import.meta.dirname, '..', '..')
const execute = promisify(execFile)
let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

/** What the compiler finds in the files of the project. It reads the sources of the package, too, with our settings. */
async function typeErrors(project: string): Promise<string[]> {
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = await execute(tsc, ['--noEmit', '--pretty', 'false'], { cwd: project }).catch(
    (error: unknown) => error as { readonly stdout: string },
  )
  return stdout.split('\n').filter((line) => /^\w.*error TS/.test(line))
}

/** Installs the package: a folder outside node_modules, because Node strips no types inside. */
function install(project: string): void {
  const local = join(cli.folder, 'local-pawl')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly default: string }>>
  }
  const exports = Object.entries(manifest.exports).map(([name, { default: file }]) => {
    return [name, file.replace('./dist/', './src/').replace(/\.js$/, '.ts')] as const
  })
  mkdirSync(local)
  const own = { name: 'pawl', type: 'module', exports: Object.fromEntries(exports) }
  writeFileSync(join(local, 'package.json'), JSON.stringify(own))
  symlinkSync(join(root, 'src'), join(local, 'src'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(local, join(project, 'node_modules', 'pawl'))
  symlinkSync(join(root, 'node_modules', '@types'), join(project, 'node_modules', '@types'))
}

test('the project passes its test and its type check, runs, and is never overwritten', {
  timeout: 60_000,
}, async () => {
  const written = await cli.pawl('init', 'my shop')
  expect(written).toMatchObject({ code: 0, stderr: '' })
  expect(written.stdout).toMatch(/wrote my shop\/workflows\.ts[^]*cd 'my shop'\n {2}npm install\n {2}npm test/)
  const project = join(cli.folder, 'my shop')
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { readonly name: string }
  expect(manifest.name).toBe('my-shop')
  install(project)

  const [tested, errors] = await Promise.all([
    execute(process.execPath, ['--test'], { cwd: project, env: { ...process.env, NODE_TEST_CONTEXT: undefined } }),
    typeErrors(project),
  ])
  expect(tested.stdout).toMatch(/pass 3/)
  expect(errors).toEqual([])

  const program = cli.begin('dev', 'my shop/workflows.ts', '--port', '0')
  await program.matches(/workflows +order/)
  const started = spawn(process.execPath, ['start.ts'], {
    cwd: project,
    env: { ...process.env, PAWL_STORE: cli.store },
  })
  const said: string[] = []
  started.stdout.on('data', (chunk: Buffer) => said.push(String(chunk)))
  await expect.poll(() => said.join(''), { timeout: 20_000 }).toMatch(/status: 'paid', receipt: 'receipt-A1'/)

  const again = await cli.pawl('init', 'my shop')
  expect(again.code).toBe(2)
  expect(again.stderr).toMatch(/has package\.json, .*overwrites nothing/)
})
