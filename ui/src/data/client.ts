// The client of the server that this page came from.
import { QueryCache, QueryClient } from '@tanstack/react-query'
import { connect, PawlError, type RemoteClient } from 'pawl/client'
import { keepToken, tokenOfTab } from './settings.ts'
import { shared } from './store.ts'

function connected(token: string | undefined): RemoteClient {
  return connect(location.origin, { ...(token !== undefined && { token }), timeout: '10s' })
}

let current = connected(tokenOfTab())

/** True after the server has refused a request for want of a token. */
export const needsToken = shared(false)

export function client(): RemoteClient {
  return current
}

/** Uses a token that the server knows, and forgets what was read before. */
export async function signIn(token: string): Promise<void> {
  const next = connected(token)
  await next.me()
  use(next, token)
  needsToken.set(false)
}

export function signOut(): void {
  use(connected(undefined), undefined)
  needsToken.set(true)
}

function use(next: RemoteClient, token: string | undefined): void {
  keepToken(token)
  current = next
  queries.clear()
}

export function codeOf(error: unknown): string {
  return error instanceof PawlError ? error.code : 'UNKNOWN'
}

/** Notes that a request was refused because its token is missing, unknown or revoked. */
export function noteRefusal(error: unknown): void {
  if (codeOf(error) === 'UNAUTHENTICATED') needsToken.set(true)
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noteRefusal }),
  // The client itself repeats what can be repeated.
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, staleTime: 1_000 } },
})
