// Where a handler may go. A name is resolved once, every address it has is judged, and the connection is made to those
// that were judged and to no other: a name server that answers differently the next time is not asked a next time.
import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Described, either, flag, fn, strings } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { type AddressKind, kindOfAddress } from './addresses.ts'
import { HostList, hostOf } from './hosts.ts'
import { refused, troubled } from './refusals.ts'

/** Gives every address of a name. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

const HOSTS = "a list of hosts: 'api.example.com', '*.example.com'"

export const guardOptions = {
  /** The only hosts to go to: 'api.example.com', '*.example.com'. Without it, every public one. */
  hosts: strings('The only hosts to go to.', HOSTS, { otherwise: 'every public one' }),
  /** May go to private and loopback addresses, too: all of them, or those of these hosts. false */
  allowPrivate: either(
    flag('May go to private and loopback addresses, too: all of them, or those of these hosts.'),
    strings('May go to private addresses of these hosts.', HOSTS),
    { otherwise: 'false' },
  ),
  /** Resolves names in another way than the system does. */
  lookup: fn<Lookup>('Resolves names in another way than the system does.'),
} as const
export interface GuardOptions extends Described<typeof guardOptions> {}

/** A host that was looked at, and the addresses to connect to. */
export interface Destination {
  readonly addresses: readonly LookupAddress[]
  /** None of them can be reached from the world. */
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
      typeof allowPrivate === 'boolean'
        ? undefined
        : new HostList(allowPrivate, `'allowPrivate' of ${what}`)
    this.#lookup = lookup
  }

  /** Judges all that can be judged without asking anybody. */
  urlOf(text: string, base?: URL): URL {
    if (text.length > limits.httpUrlLengthMax) {
      throw refused(
        'URL_REFUSED',
        `the URL has ${text.length} characters, at most ${limits.httpUrlLengthMax} are possible.`,
      )
    }
    const url = URL.parse(text, base?.href)
    if (!url) throw refused('URL_REFUSED', 'the URL cannot be read; expected https://host/path.')
    this.check(url)
    return url
  }

  check(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      const message = `the URL begins with '${url.protocol}'; only http: and https: are possible.`
      throw refused('URL_REFUSED', message)
    }
    if (url.username !== '' || url.password !== '') {
      const message = `the URL of ${url.host} has credentials in it, which would be recorded. Put them into 'secrets' of the options, and refer to them in a header.`
      throw refused('URL_REFUSED', message)
    }
    const host = hostOf(url)
    if (this.#hosts && !this.#hosts.includes(host)) {
      const message = `'${host}' is not one of the hosts this handler may go to. Add it to 'hosts' of its options if it should be.`
      throw refused('HOST_REFUSED', message, { host })
    }
  }

  async resolve(url: URL): Promise<Destination> {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? await this.#addressesOf(host) : [literal(host)]
    const kinds = addresses.map(({ address }) => this.#judge(host, address))
    return { addresses, isPrivate: kinds.every(({ reach }) => reach !== 'public') }
  }

  async #addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const asked = this.#lookup(host)
    const addresses = await asked.catch((cause: unknown) => {
      throw troubled('NETWORK_FAILED', `the name '${host}' could not be resolved`, { cause })
    })
    if (addresses.length > 0) return addresses
    throw troubled('NETWORK_FAILED', `the name '${host}' has no address`)
  }

  #judge(host: string, address: string): AddressKind {
    const kind = kindOfAddress(address)
    if (kind.reach === 'public') return kind
    const isAllowed = this.#allowsPrivate || this.#privateHosts?.includes(host) === true
    if (kind.reach === 'private' && isAllowed) return kind
    const where = address === host ? `'${host}' is` : `'${host}' is at ${address}, which is`
    const advice =
      kind.reach === 'private'
        ? " Add the host to 'allowPrivate' of the options if it is yours."
        : ' No handler goes there.'
    const message = `${where} not an address of the public Internet but ${kind.name}.${advice}`
    throw refused('ADDRESS_REFUSED', message, { host, address })
  }
}

function everyAddress(host: string): Promise<readonly LookupAddress[]> {
  return systemLookup(host, { all: true })
}

function literal(address: string): LookupAddress {
  return { address, family: isIP(address) }
}
