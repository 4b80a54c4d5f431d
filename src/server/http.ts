// Requests and answers as the server sees them, whether they come from Node or from a framework with `fetch` types.

export interface HttpRequest {
  readonly method: string
  /** The path and the query, as sent. */
  readonly target: string
  header(name: string): string | undefined
  /** Reads the whole body, at most this many bytes; throws REQUEST_TOO_LARGE if it is longer. */
  body(bytesMax: number): Promise<string>
  /** The address of the client, if it is known. */
  readonly address?: string
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A text, or texts that are sent one after another, each when the client has taken the one before. */
  readonly body?: string | AsyncIterable<string>
  /** Aborted when the body is to end: a client that has not taken what it was sent is cut off. */
  readonly signal?: AbortSignal
}

/** Headers of every answer. Nothing that this server sends is to be run, framed or kept. */
export const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const
