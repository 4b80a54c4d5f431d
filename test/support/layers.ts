// The architecture as data: who may import whom under src, and the functions that judge it.

import {
  builtinName,
  type Import,
  importsOf,
  isTestFile,
  resolveRelative,
  type SourceFile,
  type Violation,
} from './source-files.ts'

const seam = 'core/stores/store.ts'
/** Values, errors, limits and texts, and the ports to the world: every layer may use them. */
const common = ['core/base', 'core/runtime'] as const

/** The engine: each layer, and what it may import besides itself. */
const core: Readonly<Record<string, readonly string[]>> = {
  'core/base': [],
  'core/runtime': ['core/base'],
  'core/kernel': ['core/base'],
  'core/policies': ['core/base', 'core/kernel'],
  'core/definitions': ['core/base', 'core/kernel', 'core/policies'],
  'core/deciders': ['core/base', 'core/kernel', 'core/definitions'],
  'core/telemetry': [...common, 'core/kernel'],
  'core/stores': [...common, 'core/kernel', 'core/telemetry'],
  'core/catalogue': ['core/base', 'core/kernel', 'core/policies', seam],
  'core/worker': [
    ...[...common, 'core/kernel', 'core/policies', 'core/definitions', 'core/deciders'],
    ...['core/telemetry', 'core/catalogue', seam],
  ],
  'core/client': [
    ...[...common, 'core/kernel', 'core/policies', 'core/definitions', 'core/deciders'],
    ...['core/telemetry', 'core/catalogue', seam],
  ],
}

/** What the upper floor sees of the engine: two entries, for those who use it and for those who write a store. */
const entry = 'core/index.ts'
const storeEntry = 'core/stores/driver.ts'

/** What stands on the engine, and uses it only through its entries. */
const upper: Readonly<Record<string, readonly string[]>> = {
  'stores/sql': [...common, storeEntry],
  'stores/sqlite': [...common, storeEntry, 'stores/sql', 'stores/url-parameters.ts'],
  'stores/postgres': [...common, storeEntry, 'stores/sql', 'stores/url-parameters.ts'],
  'stores/objects': [...common, storeEntry, entry, 'stores/url-parameters.ts'],
  'stores/url-parameters.ts': ['core/base'],
  'stores/open.ts': [...common, storeEntry, 'stores/sqlite', 'stores/postgres', 'stores/objects'],
  'addons/handlers': [...common, entry],
  'addons/documents': ['core/base', entry],
  'addons/schedules': [...common, entry],
  'addons/diagrams': ['core/base', entry],
  'addons/codecs': [...common, storeEntry, 'stores/objects'],
}

/** They put the parts together; what users import. */
const root = ['engine.ts', 'index.ts'] as const

/**
 * A layer is a folder, or a file beside one. It may import itself and what is listed here: a layer, or one file of a
 * layer. What is not in the table may not exist.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  ...core,
  [entry]: Object.keys(core),
  ...upper,
  'engine.ts': [...Object.keys(core), entry, ...Object.keys(upper), 'index.ts'],
  'index.ts': [...Object.keys(core), entry, ...Object.keys(upper), 'engine.ts'],
  cli: [...common, entry, 'addons/handlers', 'addons/documents', 'stores/objects', ...root],
  testing: [...Object.keys(core), ...Object.keys(upper), ...root, 'cli'],
}

/** Folders whose folders are layers. */
const nested = new Set(['core', 'stores', 'addons'])

/** The pure layers, and all they may take from Node. Layers not named here may use any of it. */
export const mayImportFromNode: Readonly<Record<string, Readonly<Record<string, string[]>>>> = {
  'core/base': { 'node:crypto': ['createHash', 'hash'] },
  'core/kernel': {},
  'core/policies': { 'node:crypto': ['createHash', 'hash'] },
  'core/definitions': { 'node:crypto': ['createHash', 'hash'] },
  'core/deciders': {
    'node:crypto': ['createHash', 'hash'],
    'node:async_hooks': ['AsyncLocalStorage', 'AsyncResource'],
  },
}

/** Tests may reach anywhere: they judge the layers from outside. */
export function layerViolations(file: SourceFile): Violation[] {
  if (!file.path.startsWith('src/') || isTestFile(file.path)) return []
  const layer = layerOf(file.path)
  if (mayImport[layer] === undefined) {
    return [`${file.path}: ${layer} is not in the layer table (test/support/layers.ts)`]
  }
  return importsOf(file).flatMap((imported) => {
    const problem = importProblem(file.path, layer, imported)
    return problem === undefined ? [] : [`${file.path}:${imported.line}: ${problem}`]
  })
}

function layerOf(path: string): string {
  const [, first = path, second] = path.split('/')
  return second !== undefined && nested.has(first) ? `${first}/${second}` : first
}

function importProblem(path: string, layer: string, imported: Import): string | undefined {
  const target = resolveRelative(path, imported.specifier)
  if (target !== undefined) return relativeProblem(layer, target)
  const builtin = builtinName(imported.specifier)
  if (builtin !== undefined) return builtinProblem(layer, builtin, imported.names)
  return packageProblem(layer, imported.specifier)
}

function relativeProblem(layer: string, target: string): string | undefined {
  if (!target.startsWith('src/')) return `src may not import ${target}`
  if (isTestFile(target)) return `${target} is a test`
  const targetLayer = layerOf(target)
  const allowed = mayImport[layer] ?? []
  if (targetLayer === layer || allowed.includes(targetLayer)) return undefined
  if (allowed.includes(target.slice('src/'.length))) return undefined
  return `${layer} may not import ${target}`
}

function builtinProblem(
  layer: string,
  builtin: string,
  names: readonly string[],
): string | undefined {
  const allowance = mayImportFromNode[layer]
  if (allowance === undefined) return undefined
  const allowedNames = allowance[builtin]
  if (allowedNames === undefined) return `${layer} may not import ${builtin}`
  const refused = names.filter((name) => !allowedNames.includes(name))
  if (refused.length === 0) return undefined
  return `${layer} may not import ${refused.join(', ')} from ${builtin}`
}

function packageProblem(layer: string, specifier: string): string | undefined {
  if (/^pawl(?:\/|$)/.test(specifier)) return `import the file, not ${specifier}: this is pawl`
  if (layer === 'core/kernel') return `${layer} may import nothing, so not ${specifier}`
  return undefined
}

/** Each cycle once, as the files along it, beginning with the first by name. */
export function importCycles(files: readonly SourceFile[]): string[][] {
  const graph = new Map(files.map((file) => [file.path, relativeTargets(file)]))
  const cycles = new Map<string, string[]>()
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) {
      const cycle = rotateToSmallest(trail.slice(start))
      cycles.set(cycle.join(' '), cycle)
      return
    }
    if (finished.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    finished.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return [...cycles.values()]
}

function relativeTargets(file: SourceFile): string[] {
  const targets = importsOf(file).map(({ specifier }) => resolveRelative(file.path, specifier))
  return [...new Set(targets.filter((target) => target !== undefined))]
}

function rotateToSmallest(cycle: readonly string[]): string[] {
  const start = cycle.indexOf(cycle.toSorted()[0] ?? '')
  return [...cycle.slice(start), ...cycle.slice(0, start)]
}
