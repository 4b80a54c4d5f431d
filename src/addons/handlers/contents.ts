// Bodies: how they are written, and what is read in them.
import { isUtf8 } from 'node:buffer'
import type { Json } from '../../core/base/value.ts'
import { wrong } from './fields.ts'
import type { Answer } from './guarded-fetch.ts'
import { refused } from './refusals.ts'

export const JSON_TYPE = 'application/json'

export function jsonBytes(value: unknown, what: string): Buffer {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw refused('INPUT_INVALID', `${what} cannot be written as JSON.`, {}, error)
  }
  if (text === undefined) throw wrong(what, value, 'what JSON can say')
  return Buffer.from(text)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** What the JSON says, else the text; null if there is none. What is no text is given in base64. */
export interface Content {
  readonly body: Json
  readonly encoding?: 'base64'
}

export function contentOf({ headers, body }: Answer): Content {
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
