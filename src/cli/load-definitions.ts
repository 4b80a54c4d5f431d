// Loads the workflows and activities that files export: by name, as the default, or in arrays and objects. Codecs are
// exported under the name `codecs`.
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PawlError } from '../core/base/errors.ts'
import { pawlCommand } from '../core/base/shell.ts'
import { hasCode } from '../core/index.ts'
import type { AnyActivity, AnyWorkflow, Codec } from '../index.ts'

export interface Definitions {
  readonly workflows: readonly AnyWorkflow[]
  readonly activities: readonly AnyActivity[]
  readonly codecs?: readonly Codec[]
}

type Definition = AnyWorkflow | AnyActivity

export async function loadDefinitions(files: readonly string[]): Promise<Definitions> {
  const found = new Map<string, { definition: Definition; file: string }>()
  let coding: { readonly codecs: readonly Codec[]; readonly file: string } | undefined
  for (const file of files) {
    const { definitions, codecs } = await loadFile(file)
    if (codecs && coding && coding.codecs !== codecs) throw codecConflict([coding.file, file])
    if (codecs) coding = { codecs, file }
    for (const definition of definitions) {
      const key = `${definition.is} '${definition.name}'`
      const other = found.get(key)
      if (other && other.definition !== definition) throw conflict(key, [other.file, file])
      found.set(key, { definition, file })
    }
  }
  const all = [...found.values()].map(({ definition }) => definition)
  return {
    workflows: all.filter((each) => each.is === 'workflow'),
    activities: all.filter((each) => each.is === 'activity'),
    ...(coding && { codecs: coding.codecs }),
  }
}

/** Loads only the codecs that a file exports. */
export async function loadCodecs(file: string): Promise<readonly Codec[]> {
  const { codecs } = await load(file)
  if (Array.isArray(codecs)) return codecs as readonly Codec[]
  throw new PawlError(
    'DEFINITION_INVALID',
    `${file} exports no codecs; expected the list that open(url, { codecs }) takes: export const codecs = [compress(), encrypt(…)].`,
  )
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file)
  if (!existsSync(path)) {
    throw new PawlError(
      'INPUT_INVALID',
      `there is no file ${relative('.', path) || file}. Check the path and the current folder.`,
    )
  }
  if (/\.(ya?ml|json)$/i.test(path)) {
    throw new PawlError(
      'INPUT_INVALID',
      `${file} is not a TypeScript or JavaScript module. If it is a graph: ${pawlCommand('submit', [file])}`,
    )
  }
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw new PawlError('DEFINITION_INVALID', `${file} ${loadProblem(error)}`, { cause: error })
  }
}

function loadProblem(error: unknown): string {
  if (!(error instanceof Error)) return `throws while it is loaded: ${String(error)}`
  const { message, stack = '' } = error
  // Only the stack has the place of the error, which may be in an imported file.
  if (error instanceof SyntaxError) return `cannot be read: ${message}${inBrackets(placeOfSyntax(stack))}`
  if ('code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
    return `cannot be loaded: ${message}.${importHint('url' in error ? error.url : undefined)}`
  const place = /(?:^|\s|\()(file:\/\/\/\S+?:\d+):\d+\)?$/m.exec(stack)?.[1]
  return `throws while it is loaded: ${error.name}: ${message}${inBrackets(place)}`
}

// Node names the place of an error in JavaScript by its URL, and in TypeScript by its path.
function placeOfSyntax(stack: string): string | undefined {
  const place = /^(?:file:|\/|[A-Za-z]:\\).*:\d+$/m.exec(stack)?.[0]
  return place?.startsWith('file:') === false
    ? place.replace(/^.*(?=:\d+$)/, (path) => pathToFileURL(path).href)
    : place
}

function inBrackets(place: string | undefined): string {
  return place === undefined ? '' : ` (${place})`
}

/** A hint for imports that name the file a compiler would write, such as './order.js'. */
function importHint(url: unknown): string {
  if (typeof url !== 'string' || !url.startsWith('file:')) return ''
  const path = fileURLToPath(url)
  const candidates = [path.replace(/\.([mc]?)jsx?$/, '.$1ts'), `${path}.ts`, `${path}/index.ts`]
  const found = candidates.find((each) => each !== path && existsSync(each))
  if (found === undefined) return ''
  return ` There is ${relative('.', found)}: import it by this name, because Node runs TypeScript without compiling it.`
}

async function loadFile(
  file: string,
): Promise<{ readonly definitions: readonly Definition[]; readonly codecs?: readonly Codec[] }> {
  const exported = await load(file)
  const definitions = Object.values(exported).flatMap((value) => collect(value))
  if ('codecs' in exported) return { definitions, codecs: await loadCodecs(file) }
  if (definitions.length > 0) return { definitions }
  throw new PawlError(
    'DEFINITION_INVALID',
    `${file} exports no workflow and no activity. Export what workflow(…) and activity(…) return${hint(exported)}.`,
  )
}

// An export may be a definition or contain some, such as `export default [order, charge]`.
function collect(value: unknown, depth = 0): Definition[] {
  if (isDefinition(value)) return [value]
  if (typeof value !== 'object' || value === null || depth > 1) return []
  const isPlain = Object.getPrototypeOf(value) === Object.prototype
  if (!Array.isArray(value) && !isPlain) return []
  return Object.values(value).flatMap((each) => collect(each, depth + 1))
}

function isDefinition(value: unknown): value is Definition {
  const given = value as Partial<Record<'is' | 'name', unknown>> | null | undefined
  const known = given?.is === 'workflow' || given?.is === 'activity'
  return known && hasCode(given) && typeof given.name === 'string'
}

function hint(exported: Readonly<Record<string, unknown>>): string {
  const contracts = Object.values(exported).some(
    (value) => typeof (value as { implement?: unknown } | null)?.implement === 'function',
  )
  return contracts ? '; it exports contracts without code, so call .implement(…) on them' : ''
}

function conflict(key: string, files: readonly string[]): PawlError {
  const where = new Set(files)
  const places = [...where].join(' and ')
  return new PawlError(
    'DEFINITION_CONFLICT',
    `there are two definitions of ${key}, in ${places}. Runs find their code by its name: rename one of them.`,
  )
}

function codecConflict(files: readonly string[]): PawlError {
  return new PawlError(
    'DEFINITION_CONFLICT',
    `${files.join(' and ')} export different codecs, but a store has one list of codecs. Define them in one file and import them in the other.`,
  )
}
