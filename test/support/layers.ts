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

const library = [
  'kernel',
  'policies',
  'definitions',
  'deciders',
  'runtime',
  'telemetry',
  'stores',
  'catalogue',
  'worker',
  'schedules',
  'client',
] as const

const seam = 'stores/store.ts'

/**
 * A layer is a folder or a file directly under src. It may import itself and what is listed here: a
 * layer, or one file of a layer. What is not in the table may not exist.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  policies: ['kernel'],
  definitions: ['kernel', 'policies'],
  deciders: ['kernel', 'definitions'],
  runtime: ['kernel'],
  telemetry: ['kernel', 'runtime'],
  stores: ['kernel', 'runtime', 'telemetry'],
  codecs: ['kernel', 'runtime', 'stores'],
  catalogue: ['kernel', 'policies', seam],
  worker: [
    ...['kernel', 'policies', 'definitions', 'deciders', 'runtime', 'telemetry', 'catalogue'],
    seam,
  ],
  handlers: ['kernel', 'policies', 'definitions', 'runtime'],
  schedules: ['kernel', 'policies', 'definitions'],
  client: [
    ...['kernel', 'policies', 'definitions', 'deciders', 'runtime', 'telemetry', 'schedules'],
    'catalogue',
    seam,
  ],
  'engine.ts': [...library, 'index.ts'],
  'index.ts': [...library, 'engine.ts'],
  cli: [...library, 'handlers', 'engine.ts', 'index.ts'],
  testing: [...library, 'codecs', 'engine.ts', 'index.ts', 'cli'],
}

/** The pure layers, and all they may take from Node. Layers not named here may use any of it. */
export const mayImportFromNode: Readonly<Record<string, Readonly<Record<string, string[]>>>> = {
  kernel: { 'node:crypto': ['createHash', 'hash'] },
  policies: { 'node:crypto': ['createHash', 'hash'] },
  definitions: { 'node:crypto': ['createHash', 'hash'] },
  deciders: {
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
  return path.split('/')[1] ?? path
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
  if (layer === 'kernel') return `kernel may import nothing, so not ${specifier}`
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
