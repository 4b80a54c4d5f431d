// Reads a document into JSON: text is parsed, a value is copied. Limits are checked first, so that a hostile document
// costs little. The result is plain JSON of bounded size and depth, and the caller has no reference to it.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { encode, type Json, type Note } from '../../core/base/value.ts'
import { parseText } from './parse-text.ts'
import type { Path, Problems } from './problems.ts'

export function readDocument(given: unknown, problems: Problems): Json {
  const value = typeof given === 'string' ? readText(given, problems) : given
  const document = copy(value, problems)
  if (problems.any) problems.refuse()
  return document
}

function readText(text: string, problems: Problems): unknown {
  const max = limits.graphBytesMax
  // Check the length first: it is free, and the number of bytes is never smaller.
  const bytes = text.length > max ? text.length : Buffer.byteLength(text)
  if (bytes > max) {
    addSizeProblem(problems)
    problems.refuse()
  }
  return parseText(text.startsWith('\ufeff') ? text.slice(1) : text, problems)
}

export function addSizeProblem(problems: Problems): void {
  const message = `the document has more than ${limits.graphBytesMax} bytes: split it into several graphs`
  problems.add([], 'LIMIT', message)
}

function copy(value: unknown, problems: Problems): Json {
  try {
    const { json, notes = [] } = encode(value, 'the graph')
    for (const note of notes) applyNote(json, note, problems)
    if (isDeeper(json, limits.graphDepthMax)) {
      problems.add([], 'LIMIT', `the document is nested more than ${limits.graphDepthMax} levels deep: flatten it`)
    }
    return json
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    if (error.code === 'PAYLOAD_TOO_LARGE') addSizeProblem(problems)
    else problems.add(pathIn(error), 'NOT_DATA', error.message)
    return problems.refuse()
  }
}

/** Rejects values JSON cannot represent, except undefined fields (dropped) and -0 (becomes 0). */
function applyNote(document: Json, [kind, ...path]: Note, problems: Problems): void {
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
