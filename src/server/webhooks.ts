// `POST /webhooks/{token}`: the path that `ctx.webhook` gives. The token authorises, so no other credential is needed.
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { JSON_TYPE, parseBody } from '../operations/wire.ts'
import type { HttpRequest } from './http.ts'

export interface WebhookCall {
  readonly namespace: string
  readonly token: string
}

/**
 * The webhook of a path: below the namespace, if the server has several. A namespace that does not exist is answered
 * like a token that does not, because callers need no credential and are not to learn the names.
 */
export function webhookOf(path: string, namespaces: readonly string[]): WebhookCall | undefined {
  const [, first, ...rest] = path.split('/')
  if (first !== 'webhooks') return undefined
  const [only = ''] = namespaces
  const [namespace, token] = namespaces.length === 1 && rest.length === 1 ? [only, rest[0]] : rest
  if (namespace === undefined || token === undefined || token === '' || rest.length > 2) return undefined
  return namespaces.includes(namespace) ? { namespace, token } : { namespace: only, token: '-' }
}

/** Refuses what a link scanner or a page could send. */
export function checkWebhook(request: HttpRequest): void {
  if (request.header('origin') === undefined) return
  throw new PawlError('ORIGIN_REFUSED', 'a webhook takes no requests of web pages. Send it from a server.')
}

/** JSON is the payload; other text comes with its type. */
export async function webhookPayload(request: HttpRequest): Promise<unknown> {
  const contentType = request.header('content-type')
  const text = await request.body(limits.payloadBytesMax)
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === JSON_TYPE || type?.endsWith('+json')) return text === '' ? undefined : parseBody(text, false)
  return text === '' ? undefined : { contentType: type ?? '', body: text }
}
