// The tidy rules except the layers. Each is a pure function from a file to violations.

import {
  builtinName,
  importsOf,
  isNode,
  isTestFile,
  lineAt,
  nameOf,
  type SourceFile,
  type SyntaxNode,
  type TextFile,
  type Violation,
  walk,
} from './source-files.ts'

export const fileLinesMax = 500
/** All limits are one list in one file, which has nothing to follow. */
export const limitsLinesMax = 700
export const functionLinesMax = 70
export const proseColumnsMax = 120
export const architectureLinesMax = 200

const clockNames = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'randomUUID',
  'randomBytes',
  'getRandomValues',
])

const clockMembers = new Set([
  'Date.now',
  'performance.now',
  'Math.random',
  'process.hrtime',
  'Temporal.Now',
  // A timer under another name.
  'AbortSignal.timeout',
])

const clockModules = new Set(['node:timers', 'node:timers/promises', 'node:perf_hooks'])

/**
 * Only core/runtime may use time, timers, randomness and the environment directly; other layers get them as parameters.
 */
export function worldViolations(file: SourceFile): Violation[] {
  const { path } = file
  if (!path.startsWith('src/') || path.startsWith('src/core/runtime/') || isTestFile(path)) return []
  const forbidden = path.startsWith('src/cli/') ? clockMembers : withEnvironment
  const found: Violation[] = []
  const report = (line: number, what: string): void => {
    found.push(`${path}:${line}: ${what} belongs to src/core/runtime`)
  }
  walk(file.program, (node) => {
    const what = readOfWorld(node, forbidden)
    if (what !== undefined) report(lineAt(file, node.start), what)
  })
  for (const { specifier, names, line } of importsOf(file)) {
    const builtin = builtinName(specifier)
    if (builtin !== undefined && clockModules.has(builtin)) report(line, builtin)
    if (builtin !== 'node:process') continue
    for (const name of names) if (forbidden.has(`process.${name}`)) report(line, `process.${name}`)
  }
  return found
}

const withEnvironment = new Set([...clockMembers, 'process.env'])

function readOfWorld(node: SyntaxNode, forbidden: ReadonlySet<string>): string | undefined {
  switch (node.type) {
    case 'Identifier': {
      const name = nameOf(node)
      return name !== undefined && clockNames.has(name) ? name : undefined
    }
    case 'MemberExpression': {
      const member = memberName(node)
      return member !== undefined && forbidden.has(member) ? member : undefined
    }
    case 'NewExpression':
      return isDate(node) && noArguments(node) ? 'new Date()' : undefined
    case 'CallExpression':
      return isDate(node) ? 'Date()' : undefined
    default:
      return undefined
  }
}

/** `Date.now`, `Date['now']` and `globalThis.Date.now` are all `Date.now`. */
function memberName(node: SyntaxNode): string | undefined {
  const property = nameOf(node['property'])
  const owner = ownName(node['object'])
  return property === undefined || owner === undefined ? undefined : `${owner}.${property}`
}

function ownName(node: unknown): string | undefined {
  if (isNode(node) && node.type === 'MemberExpression') return nameOf(node['property'])
  return nameOf(node)
}

function isDate(node: SyntaxNode): boolean {
  return ownName(node['callee']) === 'Date'
}

function noArguments(node: SyntaxNode): boolean {
  return Array.isArray(node['arguments']) && node['arguments'].length === 0
}

export function sizeViolations(file: SourceFile): Violation[] {
  const found: Violation[] = []
  const lines = file.text.trimEnd().split('\n').length
  const most = file.path === 'src/core/base/limits.ts' ? limitsLinesMax : fileLinesMax
  if (lines > most) found.push(`${file.path}: ${lines} lines, at most ${most}`)
  walk(file.program, (node, parent) => {
    if (!functionNodes.has(node.type) || isDescribeCall(parent)) return
    const first = lineAt(file, node.start)
    const length = lineAt(file, node.end) - first + 1
    if (length <= functionLinesMax) return
    found.push(`${file.path}:${first}: a function of ${length} lines, at most ${functionLinesMax}`)
  })
  return found
}

const functionNodes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Exempts the function given to `describe`, which groups tests and is as long as they are. */
function isDescribeCall(node: SyntaxNode | undefined): boolean {
  return node?.type === 'CallExpression' && rootName(node['callee']) === 'describe'
}

function rootName(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'MemberExpression') return rootName(node['object'])
  if (node.type === 'CallExpression') return rootName(node['callee'])
  if (node.type === 'TaggedTemplateExpression') return rootName(node['tag'])
  return nameOf(node)
}

const bannedComments: readonly (readonly [RegExp, string])[] = [
  [/\b(?:TODO|FIXME)\b/, 'finish it or write an issue'],
  [/@ts-(?:ignore|nocheck|expect-error)/, 'the type checker has no exceptions'],
  [/(?:biome-ignore|(?:oxlint|eslint)-disable)/, 'the linter has no exceptions'],
]

/** Only tests of types may expect type errors; no other file may silence the type checker. */
export function shortcutViolations(file: SourceFile): Violation[] {
  const found: Violation[] = []
  for (const { text, line } of file.comments) {
    for (const [pattern, advice] of bannedComments) {
      const match = pattern.exec(text)?.[0]
      if (match === undefined || (match === '@ts-expect-error' && isTypeTest(file.path))) continue
      found.push(`${file.path}:${line}: ${match}: ${advice}`)
    }
  }
  walk(file.program, (node) => {
    if (node.type !== 'TSAnyKeyword') return
    found.push(`${file.path}:${lineAt(file, node.start)}: the type any`)
  })
  return found
}

function isTypeTest(path: string): boolean {
  return isTestFile(path) || path.startsWith('test/')
}

const testFunctions = new Set(['describe', 'it', 'suite', 'test', 'bench'])
const escapes = new Set(['only', 'skip', 'todo'])

/** Tests may not be skipped. */
export function skippedTestViolations(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node) => {
    if (node.type !== 'MemberExpression') return
    const property = nameOf(node['property']) ?? ''
    const root = rootName(node['object']) ?? ''
    if (!escapes.has(property) || !testFunctions.has(root)) return
    found.push(`${file.path}:${lineAt(file, node.start)}: ${root}.${property}`)
  })
  return found
}

const proseFile = /^(?:(?:README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md|docs\/.+\.md)$/

/** Limits the width of prose, so that it fits a terminal and a diff. Code blocks and table rows may be wider. */
export function proseViolations({ path, text }: TextFile): Violation[] {
  if (!proseFile.test(path)) return []
  const found: Violation[] = []
  const lines = text.trimEnd().split('\n')
  let isCode = false
  for (const [index, line] of lines.entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode
    const columns = Array.from(line).length
    if (isCode || /^\s*\|/.test(line) || columns <= proseColumnsMax) continue
    found.push(`${path}:${index + 1}: ${columns} columns, at most ${proseColumnsMax}`)
  }
  if (path === 'ARCHITECTURE.md' && lines.length > architectureLinesMax)
    found.push(`${path}: ${lines.length} lines, at most ${architectureLinesMax}`)
  return found
}

// Split in two, so that this file does not violate its own rule.
const registryHosts = [
  ['registry.', 'npmjs'],
  ['registry.', 'yarnpkg'],
  ['npm.', 'pkg.github'],
  ['registry.', 'npmmirror'],
  ['deb.', 'debian.org'],
  ['security.', 'debian.org'],
  ['archive.', 'ubuntu.com'],
  ['files.', 'pythonhosted.org'],
].map((halves) => halves.join(''))

const sharedFolders = [
  ['../', 'shared'],
  ['/work/', 'shared'],
].map((halves) => halves.join(''))

/** The repository must build wherever it is cloned, from any registry and without neighbouring folders. */
export function portabilityViolations(file: TextFile): Violation[] {
  return [...registryHosts, ...sharedFolders].flatMap((text) => {
    const offset = file.text.indexOf(text)
    return offset === -1 ? [] : [`${file.path}:${lineAt(file, offset)}: names ${text}`]
  })
}

/** Requires a source for every built file that package.json names. */
export function exportViolations(manifest: TextFile, exists: (path: string) => boolean): Violation[] {
  const { exports, bin } = JSON.parse(manifest.text) as { exports?: unknown; bin?: unknown }
  const sources = new Set([...targets(exports), ...targets(bin)].map(sourceOf))
  return [...sources]
    .filter((source) => !exists(source))
    .map((source) => `${manifest.path}: names what is built from ${source}, which is missing`)
}

function targets(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(targets)
}

/** `./package.json` and the like are their own source. */
function sourceOf(target: string): string {
  const match = /^\.\/dist\/(.+?)(?:\.d\.ts|\.js)$/.exec(target)
  return match ? `src/${match[1]}.ts` : target.replace(/^\.\//, '')
}
