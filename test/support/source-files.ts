// Parses source text for the tidy rules: imports, functions and comments. It uses the parser that Vite ships, because
// TypeScript 7 has no API.

import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { parseSync } from 'vite'

/** `path` is relative to the root of the repository, with forward slashes. */
export type TextFile = { readonly path: string; readonly text: string }

export type SyntaxNode = { readonly type: string; readonly start: number; readonly end: number } & {
  readonly [field: string]: unknown
}

export type Comment = { readonly text: string; readonly line: number }

export type SourceFile = TextFile & {
  readonly program: SyntaxNode
  readonly comments: readonly Comment[]
}

export type Import = {
  readonly specifier: string
  /** Names taken from the module; `*` for a namespace, a dynamic import or a star export. */
  readonly names: readonly string[]
  readonly line: number
}

/** One violation of a rule, as text. */
export type Violation = string

export function parseSource(file: TextFile): SourceFile {
  const { program, comments, errors } = parseSync(file.path, file.text)
  const [error] = errors
  if (error !== undefined) throw new Error(`${file.path} does not parse: ${error.message}`)
  return {
    ...file,
    program: program as unknown as SyntaxNode,
    comments: comments.map(({ value, start }) => ({ text: value, line: lineAt(file, start) })),
  }
}

export function lineAt(file: TextFile, offset: number): number {
  return file.text.slice(0, offset).split('\n').length
}

/** Calls `visit` for every node, parents first, with its parent. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
  parent?: SyntaxNode,
): void {
  visit(node, parent)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, visit, node)
    }
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** Includes type-only imports, because a type is a dependency as well. */
export function importsOf(file: SourceFile): Import[] {
  const imports: Import[] = []
  walk(file.program, (node) => {
    if (!importingNodes.has(node.type)) return
    const specifier = stringValue(node['source'])
    if (specifier === undefined) return
    imports.push({ specifier, names: importedNames(node), line: lineAt(file, node.start) })
  })
  return imports
}

const importingNodes = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function importedNames(node: SyntaxNode): string[] {
  const specifiers = node['specifiers']
  if (!Array.isArray(specifiers)) return ['*']
  return specifiers.filter(isNode).map((specifier) => {
    if (specifier.type === 'ImportDefaultSpecifier') return 'default'
    if (specifier.type === 'ImportNamespaceSpecifier') return '*'
    return nameOf(specifier['imported'] ?? specifier['local']) ?? '*'
  })
}

export function stringValue(node: unknown): string | undefined {
  if (!isNode(node) || node.type !== 'Literal') return undefined
  return typeof node['value'] === 'string' ? node['value'] : undefined
}

export function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type !== 'Identifier') return stringValue(node)
  return typeof node['name'] === 'string' ? node['name'] : undefined
}

/** Returns the file that a relative import names; undefined for a package or a built-in module. */
export function resolveRelative(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return posix.join(posix.dirname(importer), specifier)
}

/** Returns `node:fs` for `fs` and `node:fs`. */
export function builtinName(specifier: string): string | undefined {
  if (!isBuiltin(specifier)) return undefined
  return specifier.startsWith('node:') ? specifier : `node:${specifier}`
}

export function isTestFile(path: string): boolean {
  return path.endsWith('.test.ts')
}

/** Returns every text file that git would track. Does not need git, so that it works in an unpacked archive. */
export function readRepository(root: string): TextFile[] {
  const ignored = parseIgnoreFile(readFileSync(join(root, '.gitignore'), 'utf8'))
  const paths = listFiles(root, '', (path) => !ignored(path))
  return paths
    .filter((path) => textFile.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

const textFile = /(?:\.(?:[cm]?[jt]sx?|json|md|ya?ml|toml|sql|sh|html|css|txt)|(?:^|\/)[^.]+|rc)$/

/** Supports the patterns in .gitignore: `folder/`, `path/to/folder/`, `*.suffix`, and the name of a file or folder. */
export function parseIgnoreFile(text: string): (path: string) => boolean {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const suffixes = lines.filter((line) => line.startsWith('*.')).map((line) => line.slice(1))
  const folders = lines.filter((line) => line.endsWith('/')).map((line) => line.replace(/^\//, ''))
  const names = lines.filter((line) => /^\w+$/.test(line))
  const known = suffixes.length + folders.length + names.length
  if (known !== lines.length) throw new Error(`.gitignore has forms tidy does not know: ${lines.join()}`)
  const ends = [...folders, ...names, ...names.map((name) => `${name}/`)]
  return (path) =>
    path === '.git/' ||
    suffixes.some((suffix) => path.endsWith(suffix)) ||
    ends.some((end) => path === end || path.endsWith(`/${end}`))
}

function listFiles(root: string, folder: string, keep: (path: string) => boolean): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return keep(`${path}/`) ? listFiles(root, path, keep) : []
    return entry.isFile() && keep(path) ? [path] : []
  })
}
