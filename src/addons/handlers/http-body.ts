// Writes the bodies of HTTP requests and reads those of responses.
import { isUtf8 } from 'node:buffer'
import type { Json } from '../../core/base/value.ts'
import { permanentError } from './errors.ts'
import type { HttpResponse } from './guarded-fetch.ts'
import { invalidField } from './input-reader.ts'

export const JSON_TYPE = 'application/json'

export function jsonBytes(value: unknown, what: string): Buffer {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw permanentError('INPUT_INVALID', `${what} cannot be written as JSON. Pass only JSON values.`, {}, error)
  }
  if (text === undefined) throw invalidField(what, value, 'a JSON value')
  return Buffer.from(text)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** The parsed JSON, else the text; null if the body is empty. Bytes that are not UTF-8 are given in base64. */
export interface Content {
  readonly body: Json
  readonly encoding?: 'base64'
}

export function contentOf({ headers, body }: HttpResponse): Content {
  if (body.byteLength === 0) return { body: null }
  if (!isUtf8(body)) return { body: body.toString('base64'), encoding: 'base64' }
  const text = body.toString('utf8')
  if (!isJson(headers['content-type'])) return { body: text }
  try {
    return { body: JSON.parse(text) as Json }
  } catch {
    return { body: text }
  }
}

function isJson(type: string | undefined): boolean {
  return /^application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(type ?? '')
}
