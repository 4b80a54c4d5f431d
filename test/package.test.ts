// Packs the package as `npm publish` would, and uses it as a stranger would. Needs a build. The
// tarball is unpacked by hand beside links to our own dependencies, so no network is needed.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const execute = promisify(execFile)

type Manifest = {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

type Packed = {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

let project: string
let manifest: Manifest

beforeAll(async () => {
  if (!existsSync(join(root, 'dist'))) throw new Error('run npm run build first')
  manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
  project = await mkdtemp(join(tmpdir(), 'pawl-package-'))
  const modules = join(project, 'node_modules')
  const { filename } = await pack('--pack-destination', project)
  await mkdir(join(modules, manifest.name), { recursive: true })
  const target = ['-C', join(modules, manifest.name), '--strip-components=1']
  await execute('tar', ['-xzf', join(project, filename), ...target])
  const dependencies = { ...manifest.dependencies, ...manifest.peerDependencies }
  for (const name of [...Object.keys(dependencies), '@types/node', '@types/pg']) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  await writeFile(join(project, 'package.json'), '{ "type": "module" }')
}, 120_000)

afterAll(async () => {
  if (project !== undefined) await rm(project, { recursive: true, force: true })
})

/** Scripts are off, because what they print would be mixed into the JSON. */
async function pack(...args: string[]): Promise<Packed> {
  const all = ['pack', '--json', '--ignore-scripts', ...args]
  const { stdout } = await execute('npm', all, { cwd: root })
  const parsed = JSON.parse(stdout) as Packed[] | Record<string, Packed>
  const [packed] = Object.values(parsed)
  if (packed === undefined) throw new Error(`npm pack said nothing: ${stdout}`)
  return packed
}

function entryPoints(): string[] {
  return Object.keys(manifest.exports).map((path) => manifest.name + path.slice(1))
}

test('the package holds the build and the README, and nothing from the workshop', async () => {
  const { files } = await pack('--dry-run')
  const paths = files.map(({ path }) => path)
  expect(paths).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'README.md']))
  expect(paths.filter((path) => /\.test\.|^(?:src|test|bench|scripts)\//.test(path))).toEqual([])
  expect(paths.filter((path) => path.endsWith('.tsbuildinfo'))).toEqual([])
})

/** What the README says is in the repository. */
const ofTheRepository = new Set([
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'bench/README.md',
  'docs/decisions/README.md',
  'docs/internals/checklist.md',
])

test('an uncaught error shows its message: Node prints the line that threw, and lines are short', async () => {
  const { files } = await pack('--dry-run')
  const code = files
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.js') && !/\/conformance\.js$|^dist\/ui\//.test(path))
  expect(code.length).toBeGreaterThan(10)
  for (const path of code) {
    const lines = (await readFile(join(root, path), 'utf8')).split('\n')
    expect(Math.max(...lines.map((line) => line.length)), path).toBeLessThan(4000)
  }
})

/** Pictures are in the repository alone, because they would double the package. */
function isPicture(target: string): boolean {
  return target.startsWith('docs/images/') && existsSync(join(root, target))
}

test('users friction 5: the package is small, and every link in its docs leads somewhere in it', async () => {
  const { files, size } = await pack('--dry-run')
  // 300 kB of it are the web UI, most of which is loaded on demand.
  expect(size).toBeLessThanOrEqual(1_000_000)
  const paths = new Set(files.map(({ path }) => path))
  const dead: string[] = []
  for (const page of [...paths].filter((path) => path.endsWith('.md'))) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      const target = join(dirname(page), link)
      const isThere = paths.has(target) || [...paths].some((path) => path.startsWith(`${target}/`))
      const isKnown = isThere || ofTheRepository.has(target) || isPicture(target)
      if (!/^https?:/.test(link) && !isKnown) dead.push(`${page}: ${link}`)
    }
  }
  expect(dead).toEqual([])
})

test('every declaration that is built still has a source', async () => {
  const { files } = await pack('--dry-run')
  const sources = files.flatMap(({ path }) => /^dist\/(.+)\.d\.ts$/.exec(path)?.[1] ?? [])
  expect(sources.length).toBeGreaterThan(50)
  expect(sources.filter((name) => !existsSync(join(root, 'src', `${name}.ts`)))).toEqual([])
})

test('house: declarations show what users can call, and nothing that is ours', async () => {
  const { files } = await pack('--dry-run')
  const paths = files.map(({ path }) => path)
  const ours = [
    'core/kernel/command',
    'core/kernel/decider',
    'core/definitions/registry',
    'core/worker/worker-settings',
    'core/worker/context',
  ]
  expect(ours.filter((name) => paths.includes(`dist/${name}.d.ts`))).toEqual([])
  for (const name of [
    'engine',
    'core/client/client',
    'core/worker/worker',
    'addons/batches/batch',
    'testing/test-engine',
  ]) {
    const text = await readFile(join(root, 'dist', `${name}.d.ts`), 'utf8')
    expect(text.match(/constructor|@internal|\b(?:results|waits|offer|accept|look)\b[(:]/g)).toBeNull()
  }
})

test('a project that has the package can import every entry point', async () => {
  const lines = entryPoints().map(
    (name) => `if (Object.keys(await import('${name}')).length === 0) throw new Error('${name}')`,
  )
  await writeFile(join(project, 'use.js'), lines.join('\n'))
  await execute('node', ['use.js'], { cwd: project })
})

test('a strict TypeScript project finds the types of every entry point', async () => {
  const lines = entryPoints().map((name, index) => `import * as entry${index} from '${name}'`)
  const uses = entryPoints().map((_, index) => `entry${index}`)
  const text = `${lines.join('\n')}\nexport const all: object[] = [${uses.join(', ')}]\n`
  await writeFile(join(project, 'use.ts'), text)
  expect(await compiled('use.ts', '--noEmit')).toBe('')
})

test('a package of users can export definitions: their declarations name only what pawl exports', async () => {
  await copyFile(join(root, 'test', 'types', 'exported.ts'), join(project, 'exported.ts'))
  expect(await compiled('exported.ts', '--declaration', '--outDir', 'out')).toBe('')
  const text = await readFile(join(project, 'out', 'exported.d.ts'), 'utf8')
  const modules = [...text.matchAll(/(?:from |import\()['"](.+?)['"]/g)].map(([, name]) => name)
  expect(new Set(modules)).toEqual(new Set(['pawl', 'pawl/testing']))
})

async function compiled(file: string, ...options: string[]): Promise<string> {
  const strict = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  const args = [...strict, ...options, file]
  const { stdout } = await execute('tsc', args, { cwd: project }).catch((error: unknown) => {
    throw new Error(`tsc: ${String((error as { stdout?: string }).stdout)}`, { cause: error })
  })
  return stdout
}

test('the command line starts and shows its help', async () => {
  const [program] = Object.values(manifest.bin)
  const file = join(project, 'node_modules', manifest.name, program ?? '')
  expect(await readFile(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  const { stdout } = await execute('node', [file, '--help'], { cwd: project })
  expect(stdout).toMatch(/usage/i)
})

/** The code of a page, block by block. */
async function blocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(join(project, 'node_modules', manifest.name, page), 'utf8')
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))
  return [...found].map(([, code = '']) => code)
}

describe('users §1: what a newcomer does, with the package and its docs alone', () => {
  const bin = (): string => join(project, 'node_modules', manifest.name, manifest.bin['pawl'] ?? '')

  async function pawl(...args: string[]): Promise<string> {
    const { stdout } = await execute('node', [bin(), ...args], { cwd: project, timeout: 60_000 })
    return stdout
  }

  test('the first program of the README runs as it is', async () => {
    const [first = ''] = await blocks('README.md', 'ts')
    await writeFile(join(project, 'app.ts'), first)
    const { stdout } = await execute('node', ['app.ts'], { cwd: project, timeout: 60_000 })
    expect(stdout).toMatch(/status: 'paid', receipt: 'receipt-A1'/)
    await rm(join(project, 'pawl.db'))
  })

  test('the tsconfig.json of the README compiles a program, with its files by their real names', async () => {
    const [config = ''] = await blocks('README.md', 'json')
    const folder = join(project, 'typed')
    await mkdir(folder)
    await writeFile(join(folder, 'tsconfig.json'), config)
    const lines = ["import { open } from 'pawl'", "await using pawl = await open('memory:')", 'void pawl']
    await writeFile(join(folder, 'store.ts'), lines.join('\n'))
    await writeFile(
      join(folder, 'app.ts'),
      "import './store.ts'\nimport { testEngine } from 'pawl/testing'\nvoid testEngine\n",
    )
    const { stdout } = await execute('tsc', ['-p', '.'], { cwd: folder })
    expect(stdout).toBe('')
  })

  test('the demo kills a worker and loses nothing', { timeout: 60_000 }, async () => {
    expect(await pawl('demo')).toMatch(/nothing was lost|lost nothing|once/i)
  })

  test('Getting started can be followed line by line', { timeout: 60_000 }, async () => {
    const [workflows = ''] = await blocks('docs/start/getting-started.md', 'ts')
    await writeFile(join(project, 'workflows.ts'), workflows.replace("'1m'", "'10ms'"))
    const worker = spawn('node', [bin(), 'worker', './workflows.ts'], { cwd: project })
    try {
      await until(worker.stdout, 'is working')
      const [, typed = ''] = await blocks('docs/start/getting-started.md', 'sh')
      const said: string[] = []
      for (const line of typed.trim().split('\n')) {
        const command = line.replace(/^npx pawl /, '').replace(/ +#.*$/, '')
        const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
        if (words[0] === 'run') await ended()
        said.push(await pawl(...words))
      }
      expect(said[0]).toMatch(/started/)
      expect(said[1]).toMatch(/^Waiting for signal 'approval'/)
      expect(said[3]).toMatch(/completed[^]*charge_card/)
    } finally {
      worker.kill('SIGTERM')
      await once(worker, 'exit')
    }
  })

  async function ended(): Promise<void> {
    for (;;) {
      const { run } = JSON.parse(await pawl('run', 'order-A1', '--json')) as {
        run: { status: string }
      }
      if (run.status === 'completed') return
    }
  }

  async function until(stream: NodeJS.ReadableStream, text: string): Promise<void> {
    let seen = ''
    while (!seen.includes(text)) seen += String((await once(stream, 'data'))[0])
  }
})
