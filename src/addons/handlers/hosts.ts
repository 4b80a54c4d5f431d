// Host patterns in options: 'api.example.com', '*.example.com' (subdomains only, not example.com itself), '10.0.0.7'.
import { isIP } from 'node:net'
import { PawlError } from '../../core/base/errors.ts'

/** The host of a URL in canonical form: lower case, punycode, no brackets, no trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

export class HostList {
  readonly #exact = new Set<string>()
  readonly #suffixes: string[] = []

  constructor(patterns: readonly string[], what: string) {
    if (!Array.isArray(patterns)) throw invalidHosts(what, 'it is not a list')
    for (const pattern of patterns) {
      const { host, isSuffix } = parsePattern(pattern, what)
      if (isSuffix) this.#suffixes.push(`.${host}`)
      else this.#exact.add(host)
    }
  }

  includes(host: string): boolean {
    if (this.#exact.has(host)) return true
    return isIP(host) === 0 && this.#suffixes.some((suffix) => host.endsWith(suffix))
  }
}

/** How closely the pattern matches the host: higher is closer, 0 is no match. */
export function matchScore(pattern: string, host: string, what: string): number {
  if (!new HostList([pattern], what).includes(host)) return 0
  return pattern.startsWith('*.') ? pattern.length : Number.POSITIVE_INFINITY
}

function parsePattern(pattern: unknown, what: string): { host: string; isSuffix: boolean } {
  if (typeof pattern !== 'string') throw invalidHosts(what, 'one entry is not a string')
  const isSuffix = pattern.startsWith('*.')
  const name = isSuffix ? pattern.slice(2) : pattern
  const bracketed = isIP(name) === 6 ? `[${name}]` : name
  const url = URL.parse(`http://${bracketed}/`)
  const isBare = url?.pathname === '/' && /^[^/?#@*\s\\]+$/.test(name)
  const hasPort = bracketed === name && name.includes(':')
  if (!url || !isBare || hasPort) throw invalidHosts(what, `'${pattern}' is not a host`)
  const host = hostOf(url)
  if (isSuffix && isIP(host) !== 0) throw invalidHosts(what, `'${pattern}' is an address, which has no subdomains`)
  return { host, isSuffix }
}

function invalidHosts(what: string, problem: string): PawlError {
  const expected = "hosts such as 'api.example.com', '*.example.com' or '10.0.0.7', without a port"
  return new PawlError('DEFINITION_INVALID', `${what}: ${problem}; expected ${expected}.`)
}
