// How a move names a store: by what its URL says of where it is. Users, passwords and options are left out, because the
// other store keeps this name, and everybody who may see its runs sees it.
import { resolve } from 'node:path'
import { PawlError } from '../../core/base/errors.ts'

const DEFAULT_PORT = '5432'

export function placeOf(url: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+]*):(.*)$/is.exec(url) ?? []
  switch (scheme.toLowerCase()) {
    case 'sqlite':
    case 'file':
      return `${scheme.toLowerCase()}:${resolve(pathOf(rest))}`
    case 's3':
      return `s3:${pathOf(rest).replace(/\/+$/, '')}${endpointOf(rest)}`
    case 'postgres':
    case 'postgresql':
      return postgresPlace(url)
    default:
      throw new PawlError(
        'STORE_URL_INVALID',
        `runs move between stores that keep them: sqlite:, postgres:, s3: or file:, not '${scheme || url}:'.`,
      )
  }
}

function pathOf(rest: string): string {
  const path = rest.replace(/[?#].*$/s, '')
  return path.startsWith('///') ? path.slice(2) : path
}

function endpointOf(rest: string): string {
  const endpoint = new URLSearchParams(/\?(.*)$/s.exec(rest)?.[1] ?? '').get('endpoint')
  return endpoint === null ? '' : ` at ${new URL(endpoint).host}`
}

// By hand where the URL is not one: a list of hosts, or a socket.
function postgresPlace(text: string): string {
  const [, hosts = '', database = '', query = ''] =
    /^[a-z]+:\/\/(?:.*@)?([^/?]*)\/?([^?]*)(?:\?(.*))?$/is.exec(text) ?? []
  const parameters = new URLSearchParams(query)
  const host = hosts || parameters.get('host') || 'localhost'
  const port = parameters.get('port') ?? DEFAULT_PORT
  const named = host.includes(':') || host.startsWith('/') ? host : `${host}:${port}`
  return `postgres://${named}/${database}?schema=${parameters.get('schema') ?? 'pawl'}`
}
