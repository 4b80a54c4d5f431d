// Decides which addresses a handler may connect to. A name is resolved once, all its addresses are checked, and the
// connection uses only checked addresses, so that a name server cannot return another address after the check.
import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Described, either, flag, fn, strings } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { type AddressKind, kindOfAddress } from './addresses.ts'
import { permanentError, retryableError } from './errors.ts'
import { HostList, hostOf } from './hosts.ts'

/** Resolves a name to all its addresses. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

const HOSTS = "a list of hosts: 'api.example.com', '*.example.com'"

export const guardOptions = {
  /** The only hosts a request may go to: 'api.example.com', '*.example.com'. Default: every public host. */
  hosts: strings('The only hosts a request may go to.', HOSTS, { otherwise: 'every public host' }),
  /** Allows private and loopback addresses: of every host, or of the hosts in a list. Default: false. */
  allowPrivate: either(
    flag('Allows private and loopback addresses: of every host, or of the hosts in a list.'),
    strings('Allows private addresses of these hosts.', HOSTS),
    { otherwise: 'false' },
  ),
  /** Resolves names instead of the system. */
  lookup: fn<Lookup>('Resolves names instead of the system.'),
} as const
export interface GuardOptions extends Described<typeof guardOptions> {}

/** The checked addresses of a host. */
export interface Destination {
  readonly addresses: readonly LookupAddress[]
  /** True if none of them is public. */
  readonly isPrivate: boolean
}

export class Guard {
  readonly #hosts: HostList | undefined
  readonly #privateHosts: HostList | undefined
  readonly #allowsPrivate: boolean
  readonly #lookup: Lookup

  constructor({ hosts, allowPrivate = false, lookup = everyAddress }: GuardOptions, what: string) {
    this.#hosts = hosts && new HostList(hosts, `'hosts' of ${what}`)
    this.#allowsPrivate = allowPrivate === true
    this.#privateHosts =
      typeof allowPrivate === 'boolean' ? undefined : new HostList(allowPrivate, `'allowPrivate' of ${what}`)
    this.#lookup = lookup
  }

  /** Parses a URL and checks everything that needs no name lookup. */
  parseUrl(text: string, base?: URL): URL {
    if (text.length > limits.httpUrlLengthMax) {
      throw permanentError(
        'URL_REFUSED',
        `the URL has ${text.length} characters; the limit is ${limits.httpUrlLengthMax}. Use a shorter one.`,
      )
    }
    const url = URL.parse(text, base?.href)
    if (!url) throw permanentError('URL_REFUSED', 'the URL cannot be parsed; expected https://host/path.')
    this.check(url)
    return url
  }

  check(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      const message = `the URL begins with '${url.protocol}'; expected 'http:' or 'https:'.`
      throw permanentError('URL_REFUSED', message)
    }
    if (url.username !== '' || url.password !== '') {
      const message = `the URL of ${url.host} contains credentials, which would be recorded. Put them into 'secrets' of the options and refer to them in a header.`
      throw permanentError('URL_REFUSED', message)
    }
    const host = hostOf(url)
    if (this.#hosts && !this.#hosts.includes(host)) {
      const message = `'${host}' is not one of the hosts this handler may connect to. Add it to 'hosts' of the options to allow it.`
      throw permanentError('HOST_REFUSED', message, { host })
    }
  }

  async resolve(url: URL): Promise<Destination> {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? await this.#addressesOf(host) : [literal(host)]
    const kinds = addresses.map(({ address }) => this.#checkAddress(host, address))
    return { addresses, isPrivate: kinds.every(({ reach }) => reach !== 'public') }
  }

  async #addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const addresses = await this.#lookup(host).catch((cause: unknown) => {
      throw retryableError(
        'NETWORK_FAILED',
        `the name '${host}' could not be resolved; check the name and the name server.`,
        { cause },
      )
    })
    if (addresses.length > 0) return addresses
    throw retryableError('NETWORK_FAILED', `the name '${host}' has no address; check the name.`)
  }

  #checkAddress(host: string, address: string): AddressKind {
    const kind = kindOfAddress(address)
    if (kind.reach === 'public') return kind
    const isAllowed = this.#allowsPrivate || this.#privateHosts?.includes(host) === true
    if (kind.reach === 'private' && isAllowed) return kind
    const where = address === host ? `'${host}' is` : `'${host}' resolves to ${address}, which is`
    const advice =
      kind.reach === 'private'
        ? " Add the host to 'allowPrivate' of the options to allow it."
        : ' No handler may connect to it.'
    const message = `${where} not a public address (${kind.name}).${advice}`
    throw permanentError('ADDRESS_REFUSED', message, { host, address })
  }
}

function everyAddress(host: string): Promise<readonly LookupAddress[]> {
  return systemLookup(host, { all: true })
}

function literal(address: string): LookupAddress {
  return { address, family: isIP(address) }
}
