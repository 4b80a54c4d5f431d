// Classifies IP addresses. `private` addresses may belong to the network the process runs in, so a handler connects to
// them only if its options allow it. `never` addresses have no legitimate use for a handler.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

export type AddressKind = {
  readonly reach: 'public' | 'private' | 'never'
  /** For people: 'loopback', 'link-local'. */
  readonly name: string
}

type Range = readonly [network: string, bits: number, reach: 'private' | 'never', name: string]

// The first range that contains the address decides.
const ranges4: readonly Range[] = [
  ['169.254.169.254', 32, 'never', 'cloud metadata'],
  ['169.254.170.2', 32, 'never', 'cloud metadata'],
  ['169.254.170.23', 32, 'never', 'cloud metadata'],
  ['100.100.100.200', 32, 'never', 'cloud metadata'],
  ['168.63.129.16', 32, 'never', 'cloud metadata'],
  ['192.0.0.192', 32, 'never', 'cloud metadata'],
  ['0.0.0.0', 8, 'never', 'this network'],
  ['10.0.0.0', 8, 'private', 'private'],
  ['100.64.0.0', 10, 'private', 'shared by a carrier'],
  ['127.0.0.0', 8, 'private', 'loopback'],
  ['169.254.0.0', 16, 'private', 'link-local'],
  ['172.16.0.0', 12, 'private', 'private'],
  ['192.0.0.0', 24, 'private', 'for protocols'],
  ['192.0.2.0', 24, 'private', 'for documentation'],
  ['192.88.99.0', 24, 'never', 'a relay to IPv6'],
  ['192.168.0.0', 16, 'private', 'private'],
  ['198.18.0.0', 15, 'private', 'for benchmarks'],
  ['198.51.100.0', 24, 'private', 'for documentation'],
  ['203.0.113.0', 24, 'private', 'for documentation'],
  ['224.0.0.0', 4, 'never', 'multicast'],
  ['240.0.0.0', 4, 'never', 'reserved'],
]

const ranges6: readonly Range[] = [
  ['fd00:ec2::254', 128, 'never', 'cloud metadata'],
  ['fd00:ec2::23', 128, 'never', 'cloud metadata'],
  ['fd20:ce::254', 128, 'never', 'cloud metadata'],
  ['::', 128, 'never', 'unspecified'],
  ['::1', 128, 'private', 'loopback'],
  ['64:ff9b:1::', 48, 'private', 'translated locally'],
  ['2001::', 23, 'never', 'for protocols'],
  ['2001:db8::', 32, 'private', 'for documentation'],
  ['2002::', 16, 'never', 'a tunnel to IPv4'],
  ['3fff::', 20, 'private', 'for documentation'],
  ['fc00::', 7, 'private', 'private'],
  ['fe80::', 10, 'private', 'link-local'],
  ['fec0::', 10, 'private', 'site-local'],
  ['ff00::', 8, 'never', 'multicast'],
]

type Known = AddressKind & { readonly list: BlockList }

const known4 = ranges4.map((range) => known(range, 'ipv4'))
const known6 = ranges6.map((range) => known(range, 'ipv6'))
const global6 = known(['2000::', 3, 'never', 'global'], 'ipv6')

export function kindOfAddress(address: string): AddressKind {
  if (isIPv4(address)) return find(known4, address, 'ipv4') ?? open
  // A zone (fe80::1%eth0) is not part of the address.
  const bare = address.split('%', 1)[0] ?? ''
  if (!isIPv6(bare)) return { reach: 'never', name: 'not an address' }
  const inside = embedded(groupsOf(bare))
  if (inside !== undefined) return kindOfAddress(inside)
  const found = find(known6, bare, 'ipv6')
  if (found) return found
  // Addresses outside the global unicast block are not assigned.
  return global6.list.check(bare, 'ipv6') ? open : { reach: 'never', name: 'reserved' }
}

const open: AddressKind = { reach: 'public', name: 'public' }

function known([network, bits, reach, name]: Range, family: 'ipv4' | 'ipv6'): Known {
  const list = new BlockList()
  list.addSubnet(network, bits, family)
  return { list, reach, name }
}

function find(all: readonly Known[], address: string, family: 'ipv4' | 'ipv6'): AddressKind | undefined {
  const found = all.find(({ list }) => list.check(address, family))
  return found && { reach: found.reach, name: found.name }
}

/** The IPv4 address that an IPv6 address maps (::ffff:…) or translates to (64:ff9b::…). */
function embedded(groups: readonly number[]): string | undefined {
  const [first = 0, second = 0] = groups
  const [high = 0, low = 0] = groups.slice(6)
  const middle = groups.slice(2, 5)
  if (middle.some((group) => group !== 0)) return undefined
  const isTranslated = first === 0x64 && second === 0xff9b && groups[5] === 0
  const isMapped = first === 0 && second === 0 && groups[5] === 0xffff
  const isCompatible = first === 0 && second === 0 && groups[5] === 0 && high !== 0
  if (!isMapped && !isTranslated && !isCompatible) return undefined
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const before = partsOf(head)
  if (tail === undefined) return before
  const after = partsOf(tail)
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function partsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
