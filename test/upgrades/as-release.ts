// Loaded with `--import`: programs of the tests that import an entry of `src` get that of an earlier release instead.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const tests = pathToFileURL(join(import.meta.dirname, '..', '/')).href
const source = pathToFileURL(join(import.meta.dirname, '..', '..', 'src', '/')).href
const folder = new URL(import.meta.url).searchParams.get('folder') ?? ''
const entries = new Set(['index', 'testing/index', 'remote/index', 'server/index'])

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const name = found.url.startsWith(source) ? found.url.slice(source.length).replace(/\.ts$/, '') : ''
    if (!context.parentURL?.startsWith(tests) || !entries.has(name)) return found
    return { url: pathToFileURL(join(folder, 'dist', `${name}.js`)).href, format: 'module', shortCircuit: true }
  },
})
