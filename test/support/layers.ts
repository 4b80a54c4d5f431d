// The architecture as data: which layer under src may import which, and the functions that check it.

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
/** Values, errors, limits, texts, clocks and randomness: every layer may use them. */
const common = ['core/base', 'core/runtime'] as const

/** The layers of the engine, and what each may import besides itself. */
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

/** The entries by which the upper floor uses the engine: one for all, one for stores. */
const entry = 'core/index.ts'
const storeEntry = 'core/stores/driver.ts'
/** The part of the engine that a browser can load. */
const browserEntry = 'core/browser.ts'

/** The upper floor: layers that use the engine only through its entries. */
const upper: Readonly<Record<string, readonly string[]>> = {
  'stores/group-commit': [...common, storeEntry],
  'stores/sql': [...common, storeEntry],
  'stores/sqlite': [...common, storeEntry, 'stores/sql', 'stores/url-parameters.ts'],
  'stores/postgres': [...common, storeEntry, 'stores/sql', 'stores/url-parameters.ts'],
  'stores/objects': [...common, storeEntry, entry, 'stores/url-parameters.ts'],
  'stores/url-parameters.ts': ['core/base'],
  'stores/open.ts': [...common, storeEntry, 'stores/sqlite', 'stores/postgres', 'stores/objects'],
  'addons/handlers': [...common, entry],
  'addons/documents': ['core/base', entry],
  'addons/schedules': [...common, entry],
  'activity-client.ts': ['core/base', entry, 'addons/retention/sweep.ts'],
  'local-workers.ts': [entry, storeEntry],
  'until-idle.ts': [...common, entry, 'core/worker/options.ts'],
  'addons/batches': [...common, entry, browserEntry, 'activity-client.ts'],
  'addons/retention': [...common, entry, storeEntry, 'activity-client.ts'],
  'addons/builds': [...common, entry],
  'addons/input-schemas': [...common, entry],
  'addons/views': [...common, entry],
  'addons/diagrams': ['core/base', entry],
  'addons/moving': [...common, entry, storeEntry],
  'moving.ts': [...common, entry, storeEntry, 'addons/moving', 'stores/open.ts'],
  'addons/codecs': [...common, storeEntry, 'stores/objects'],
}

/** Add-ons that operations of the API are about. */
const operable = ['addons/batches', 'addons/builds', 'addons/retention', 'addons/schedules'] as const

/** The files that users import, which put the parts together. */
const root = ['engine.ts', 'index.ts'] as const

/**
 * A layer is a folder, or a file beside one. It may import itself and what is listed here: layers, or single files of
 * layers. Every layer must be in the table.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  ...core,
  [entry]: Object.keys(core),
  [browserEntry]: Object.keys(core),
  ...upper,
  'engine.ts': [...Object.keys(core), entry, ...Object.keys(upper), 'index.ts'],
  'index.ts': [...Object.keys(core), entry, ...Object.keys(upper), 'engine.ts', 'metrics'],
  metrics: [...common, entry, 'operations/version.ts', 'engine.ts'],
  otel: [...common, entry, 'operations/version.ts'],
  operations: [...common, entry, ...operable, 'until-idle.ts', 'addons/input-schemas', 'addons/views', 'engine.ts'],
  server: [...common, entry, 'operations', 'metrics', 'engine.ts'],
  remote: [...common, entry, browserEntry, ...operable, 'addons/diagrams', 'operations'],
  mcp: [...common, entry, 'operations', 'engine.ts'],
  cli: [
    ...common,
    entry,
    'operations',
    'server',
    'remote',
    'mcp',
    'metrics',
    'addons/handlers',
    'addons/documents',
    ...operable,
    'stores/objects',
    ...root,
  ],
  testing: [...Object.keys(core), ...Object.keys(upper), ...root, 'cli'],
}

/**
 * The layers of the web UI, and what each may import besides itself. It reaches the server only through `pawl/client`,
 * as any other program does.
 */
export const uiMayImport: Readonly<Record<string, readonly string[]>> = {
  'text.ts': [],
  texts: [],
  data: ['text.ts'],
  components: ['data', 'text.ts', 'texts'],
  pages: ['components', 'data', 'text.ts', 'texts'],
  'app.tsx': ['pages', 'components', 'data', 'text.ts'],
  'main.tsx': ['app.tsx', 'data', 'styles'],
}

/** Folders whose subfolders are layers. */
const nested = new Set(['core', 'stores', 'addons'])

/** The pure layers, and what each may import from Node. Other layers may import anything from Node. */
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

/** Tests are exempt: they may import anything. */
export function layerViolations(file: SourceFile): Violation[] {
  if (file.path.startsWith('ui/src/')) return uiViolations(file)
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

function uiViolations(file: SourceFile): Violation[] {
  const layer = file.path.split('/')[2] ?? file.path
  const allowed = uiMayImport[layer]
  if (allowed === undefined) return [`${file.path}: ${layer} is not in the layer table (test/support/layers.ts)`]
  return importsOf(file).flatMap(({ specifier, line }) => {
    const target = resolveRelative(file.path, specifier)
    if (target === undefined) {
      const isServerSide = builtinName(specifier) !== undefined || /^pawl(?!\/client$)/.test(specifier)
      return isServerSide ? [`${file.path}:${line}: the web UI may not import ${specifier}`] : []
    }
    const [, , other = ''] = target.split('/')
    if (target.startsWith('ui/src/') && (other === layer || allowed.includes(other))) return []
    return [`${file.path}:${line}: ${layer} may not import ${target}`]
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

function builtinProblem(layer: string, builtin: string, names: readonly string[]): string | undefined {
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

/** Returns each cycle once, as the list of its files, beginning with the first by name. */
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
