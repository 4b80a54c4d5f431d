// Reads the input of an operation from a request: from the path, the query, the body and one header.
import type { JsonSchema } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { visible } from '../core/base/visible.ts'
import type { OperationName, Route } from '../operations/routes.ts'
import { EXACT_TYPE, fromUrl, JSON_TYPE, parseBody, withDates } from '../operations/wire.ts'
import type { HttpRequest } from './http.ts'
import { propertiesOf } from './openapi.ts'

export type Fields = Record<string, unknown>

export async function bodyOf(
  request: HttpRequest,
  query: string,
  { name, schema }: { readonly name: string; readonly schema?: JsonSchema },
): Promise<Fields> {
  if (query !== '') throw new PawlError('INPUT_INVALID', `${name} takes its fields in the body, not in the query.`)
  const type = request.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  const text = await request.body(limits.requestBytesMax)
  if (type !== JSON_TYPE && type !== EXACT_TYPE) {
    if (type === undefined && text === '') return {}
    const message = `the content type is '${visible(type ?? 'missing')}'; expected ${JSON_TYPE}.`
    throw new PawlError('MEDIA_TYPE_UNSUPPORTED', message)
  }
  if (text === '') return {}
  const body = parseBody(text, type === EXACT_TYPE)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new PawlError('INPUT_INVALID', `the body of ${name} is not an object; expected { … }.`)
  }
  return (type === EXACT_TYPE ? body : withDates(body, schema)) as Fields
}

/** The fields of the path. They are nowhere else, so that no two places can say different things. */
export function onlyOnce(fields: Readonly<Record<string, string>>, others: Fields, name: OperationName): Fields {
  const twice = Object.keys(fields).find((field) => Object.hasOwn(others, field))
  if (twice === undefined) return fields
  throw new PawlError('INPUT_INVALID', `\`${twice}\` of ${name} is in the path; expected it only there.`)
}

/** The fields of the query, as its schema says. */
export function queryOf(query: string, name: OperationName): Fields {
  const known = propertiesOf(name)
  const entries = [...pairsOf(query)].map(([field, text]) => {
    const schema: JsonSchema | undefined = Object.hasOwn(known, field) ? known[field] : undefined
    return [field, withDates(fromUrl(text, schema), schema)]
  })
  return Object.fromEntries(entries) as Fields
}

/** The fields of the query as text. Each may be given once. */
export function pairsOf(query: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  for (const part of query.split('&')) {
    if (part === '') continue
    const [field, text] = splitAt(part, '=')
    const name = unescaped(field)
    if (pairs.has(name)) {
      const shown = visible(name).slice(0, 100)
      throw new PawlError('INPUT_INVALID', `the query has \`${shown}\` twice; expected it once.`)
    }
    pairs.set(name, unescaped(text))
  }
  return pairs
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const problem = 'the query has a broken escape; expected % and two hexadecimal digits'
    throw new PawlError('INPUT_INVALID', `${problem}, of text in UTF-8.`)
  }
}

/** The header `Idempotency-Key` fills the field that has the key. */
export function keyed(input: Fields, { key }: Route, header: string | undefined): void {
  if (header === undefined || key === undefined) return
  if (header === '' || header.length > 255) {
    const message = `the header \`Idempotency-Key\` has ${header.length} characters; expected 1 to 255.`
    throw new PawlError('INPUT_INVALID', message)
  }
  if (input[key] !== undefined && input[key] !== header) {
    throw new PawlError('INPUT_INVALID', `\`${key}\` and the header \`Idempotency-Key\` differ. Send one of them.`)
  }
  input[key] = header
}

export function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
