// Finds the operation of a method and a path.
import { type OperationName, routes } from '../operations/routes.ts'

interface Place {
  /** Operations of exactly this path, by method. */
  readonly methods: Map<string, OperationName>
  readonly fixed: Map<string, Place>
  /** The place of any other segment. */
  any?: Place
}

/** The operation of a path, with the fields that the path holds; or the methods that the path has. */
export type Match =
  | { readonly type: 'found'; readonly name: OperationName; readonly fields: Readonly<Record<string, string>> }
  | { readonly type: 'method'; readonly allowed: readonly string[] }
  | { readonly type: 'missing' }

export const API = '/api/v1'

const tree = planted()

function planted(): Place {
  const root = place()
  for (const [name, { method, path }] of Object.entries(routes)) {
    let at = root
    for (const segment of segmentsOf(path)) at = isField(segment) ? (at.any ??= place()) : childOf(at, segment)
    at.methods.set(method, name as OperationName)
  }
  return root
}

function place(): Place {
  return { methods: new Map(), fixed: new Map() }
}

function childOf({ fixed }: Place, segment: string): Place {
  const child = fixed.get(segment) ?? place()
  fixed.set(segment, child)
  return child
}

function segmentsOf(path: string): string[] {
  return path.slice(1).split('/')
}

function isField(segment: string): boolean {
  return segment.startsWith('{')
}

/** A segment that is written in the table comes before one that is a field: `/runs/count` is no run. */
export function match(method: string, path: string): Match {
  if (!path.startsWith(`${API}/`)) return { type: 'missing' }
  const values: string[] = []
  let at: Place | undefined = tree
  for (const segment of segmentsOf(path.slice(API.length))) {
    const fixed: Place | undefined = at.fixed.get(segment)
    if (!fixed) values.push(segment)
    at = fixed ?? at.any
    if (!at || segment === '') return { type: 'missing' }
  }
  const name = at.methods.get(method)
  if (name === undefined) {
    const methods = [...at.methods.keys()]
    if (methods.length === 0) return { type: 'missing' }
    return { type: 'method', allowed: [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'] }
  }
  const names = segmentsOf(routes[name].path).filter(isField)
  const fields = names.map((field, index) => [field.slice(1, -1), decodeURIComponent(values[index] ?? '')])
  return { type: 'found', name, fields: Object.fromEntries(fields) as Record<string, string> }
}
