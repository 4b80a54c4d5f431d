// Requests with any header and body, also those that `fetch` refuses to send.
import { request as httpRequest } from 'node:http'
import { API } from '../../src/server/router.ts'
import { type Answer, answerOf } from './support.ts'

export interface Raw {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string | Uint8Array
}

/** With any header, as no `fetch` lets a caller send it. */
export function sendRaw(port: number, token: string, request: Raw): Promise<Answer> {
  const { method = 'GET', path, headers = {}, body } = request
  const all = { authorization: `Bearer ${token}`, ...headers }
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const sending = httpRequest({ host: '127.0.0.1', port, method, path: `${API}${path}`, headers: sent as never })
    sending.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const named = Object.entries(response.headers).map(
            ([name, value]) => [name, String(value)] as [string, string],
          )
          const text = Buffer.concat(chunks).toString()
          const fits = new Response(text === '' ? null : text, { headers: named })
          void answerOf(fits).then((answer) => resolve({ ...answer, status: response.statusCode ?? 0 }))
        })
    })
    sending.end(body)
  })
}

export const json = (value: unknown): Pick<Raw, 'method' | 'headers' | 'body'> => ({
  ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
  body: typeof value === 'string' ? value : JSON.stringify(value),
})
