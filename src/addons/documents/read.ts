// From whatever was given to JSON of our own: text is parsed, a value is copied. Bounds come first, so that what is hostile
// costs little; afterwards the document is plain, finite and of bounded depth, and nobody else holds it.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { encode, type Json, type Note } from '../../core/base/value.ts'
import type { Path, Problems } from './problems.ts'
import { parseText } from './text.ts'

export function readDocument(given: unknown, problems: Problems): Json {
  const value = typeof given === 'string' ? readText(given, problems) : given
  const document = copy(value, problems)
  if (problems.any) problems.refuse()
  return document
}

function readText(text: string, problems: Problems): unknown {
  const max = limits.graphBytesMax
  // The length comes first: it costs nothing, and bytes are never fewer.
  const bytes = text.length > max ? text.length : Buffer.byteLength(text)
  if (bytes > max) {
    tellSize(problems)
    problems.refuse()
  }
  return parseText(text.startsWith('\ufeff') ? text.slice(1) : text, problems)
}

export function tellSize(problems: Problems): void {
  const message = `it has more than ${limits.graphBytesMax} bytes: split it into several graphs`
  problems.add([], 'LIMIT', message)
}

function copy(value: unknown, problems: Problems): Json {
  try {
    const { json, notes = [] } = encode(value, 'the graph')
    for (const note of notes) amend(json, note, problems)
    if (isDeeper(json, limits.graphDepthMax)) {
      problems.add([], 'LIMIT', `it is nested more than ${limits.graphDepthMax} levels deep`)
    }
    return json
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    if (error.code === 'PAYLOAD_TOO_LARGE') tellSize(problems)
    else problems.add(pathIn(error), 'NOT_DATA', error.message)
    return problems.refuse()
  }
}

/** What JSON cannot say is refused, but for what it says without harm: a field that is undefined, and a zero's sign. */
function amend(document: Json, [kind, ...path]: Note, problems: Problems): void {
  if (kind === '-0') return
  const key = path.at(-1)
  if (kind === 'undefined' && typeof key === 'string') {
    let parent: unknown = document
    for (const part of path.slice(0, -1)) parent = (parent as Readonly<Record<string, Json>>)[part]
    delete (parent as Record<string, Json>)[key]
    return
  }
  const advice = kind === 'date' ? ': write it as text' : ''
  problems.add(path, 'NOT_DATA', `${kind} is not JSON${advice}`)
}

function isDeeper(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const child of Object.values(value)) if (isDeeper(child, depth - 1)) return true
  return false
}

function pathIn({ details }: PawlError): Path {
  const path = (details as { readonly path?: unknown } | undefined)?.path
  return Array.isArray(path) ? (path as Path) : []
}
