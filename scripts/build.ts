// Builds the package: declarations by the compiler, and one file of code for each entry point, with shared code in a
// few chunks. Hundreds of small modules would take several times as long to load, and as much space in the package.
import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { buildUi } from './build-ui.ts'
import { root } from './project-node.ts'

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}

const dist = join(root, 'dist')
/** Modules that run as separate processes, besides those that the manifest names. */
const processes = ['./dist/cli/demo/worker.js', './dist/cli/code/child.js']

// Deletes the previous build: a renamed file would be in the package under both names.
await rm(dist, { recursive: true, force: true })
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest
const exported = Object.values(manifest.exports).map((each) => nameOf(each.default))
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-b', 'src'], {
  cwd: root,
  stdio: 'inherit',
})
await bundle([...exported, ...[...Object.values(manifest.bin), ...processes].map(nameOf)])
await importFromOrigin(['core/index', 'core/stores/driver'])
await keepReachable(exported)
await buildUi()

/** Returns `client/index` for `./dist/client/index.js`. */
function nameOf(path: string): string {
  return /^\.\/dist\/(.+)\.js$/.exec(path)?.[1] ?? path
}

async function bundle(names: readonly string[]): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(root, 'src', `${name}.ts`)])),
    platform: 'node',
    // Packages are not bundled: users install them.
    external: /^[^./]/,
    preserveEntrySignatures: 'allow-extension',
  })
  await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: 'conformance', test: /testing\/conformance\// }],
    },
    // Names of functions and classes are kept, because people read stacks and errors.
    minify: {
      compress: true,
      mangle: { toplevel: true, keepNames: true },
      codegen: { removeWhitespace: false },
    },
    comments: false,
  })
  await build.close()
  await shrink(join(dist, 'chunks', 'conformance.js'))
}

/**
 * Drops white space from the largest chunk, which only tests load. The others keep their lines: for an uncaught error
 * Node prints the line that threw, and a chunk in one line would hide the message.
 */
async function shrink(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const { code, errors } = minifySync(file, text, {
    compress: false,
    mangle: false,
    codegen: { removeWhitespace: true },
  })
  if (errors.length > 0) throw new Error(`${file} cannot be minified: ${errors[0]?.message}`)
  await writeFile(file, code)
}

/** Returns the declaration files that a declaration file imports. */
async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8')
  return [...text.matchAll(/(?:from|import\()\s*["'](\.[^"']+)["']/g)].map(([, specifier = '']) =>
    join(dirname(file), specifier.replace(/\.(?:js|ts)$/, '.d.ts')),
  )
}

/**
 * Makes declarations import each name from the file that declares it. An import from an entry that re-exports the name
 * would keep everything else that the entry re-exports.
 */
async function importFromOrigin(entries: readonly string[]): Promise<void> {
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith('.d.ts'))
  for (const entry of entries.map((name) => join(dist, `${name}.d.ts`))) {
    const passed = await readFile(entry, 'utf8')
    const origins = new Map<string, string>()
    for (const [, names = '', from = ''] of passed.matchAll(/\{([^}]*)\} from '([^']+)'/g))
      for (const name of namesIn(names)) origins.set(plainName(name), join(dirname(entry), from))
    const rest = /\* from '([^']+)'/.exec(passed)?.[1]
    for (const file of files.map((each) => join(dist, each))) {
      const text = await readFile(file, 'utf8')
      const changed = text.replace(
        /^(import|export) (type )?\{([^}]*)\} from '([^']+)';?\n/gm,
        (line, verb: string, type: string | undefined, names: string, from: string) => {
          if (join(dirname(file), from).replace(/\.[jt]s$/, '.d.ts') !== entry) return line
          const lines = namesIn(names).map((name) => {
            const origin = origins.get(plainName(name)) ?? join(dirname(entry), rest ?? from)
            return `${verb} ${type ?? ''}{ ${name} } from './${relative(dirname(file), origin)}'\n`
          })
          return lines.join('')
        },
      )
      // Types that the compiler wrote out itself.
      const whole = changed.replace(/import\("([^"]+)"\)\.(\w+)/g, (written, from: string, name: string) => {
        if (join(dirname(file), from).replace(/\.[jt]s$/, '.d.ts') !== entry) return written
        return `import('./${relative(dirname(file), origins.get(name) ?? join(dirname(entry), rest ?? from))}').${name}`
      })
      if (whole !== text) await writeFile(file, whole)
    }
  }
}

function namesIn(list: string): string[] {
  return list.split(',').flatMap((name) => name.trim() || [])
}

/** Returns `Out` for `type Out as Result`. */
function plainName(name: string): string {
  return name.replace(/^type (?=\w)/, '').replace(/ as .*$/, '')
}

async function dropComments(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/^[ \t]*\/\*\*[\s\S]*?\*\/[ \t]*\n/gm, ''))
}

/**
 * Deletes the declarations that no entry point needs, and the comments of those that no entry point exports from,
 * because only the compiler reads them.
 */
async function keepReachable(names: readonly string[]): Promise<void> {
  const entries = names.map((name) => join(dist, `${name}.d.ts`))
  const exported = new Set(entries)
  for (const file of entries) for (const each of await importsOf(file)) exported.add(each)
  const reached = new Set(entries)
  for (const file of reached) for (const each of await importsOf(file)) reached.add(each)
  for (const file of reached) if (!exported.has(file)) await dropComments(file)
  for (const file of await readdir(dist, { recursive: true })) {
    const path = join(dist, file)
    if (file.endsWith('.d.ts') && !reached.has(path)) await rm(path)
  }
  console.log(`declarations: ${reached.size} files under ${relative(root, dist)}`)
}
