import { describe, expect, test } from 'vitest'
import { kindOfAddress } from './addresses.ts'
import { HostList, hostOf, matchScore } from './hosts.ts'

const kinds: Readonly<Record<'public' | 'private' | 'never', readonly string[]>> = {
  public: [
    '1.1.1.1',
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '11.0.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:80b::200e',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
  ],
  private: [
    '10.0.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '198.18.0.1',
    '203.0.113.7',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fdff::1',
    'fec0::1',
    '2001:db8::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:c0a8:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '::127.0.0.1',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    'ff02::1',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '::ffff:0.0.0.0',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '2001::1',
    '4000::1',
    'not an address',
    '',
  ],
}

describe('A12: addresses', () => {
  for (const [reach, addresses] of Object.entries(kinds)) {
    test.each(addresses)(`%s is ${reach}`, (address) => {
      expect(kindOfAddress(address).reach).toBe(reach)
    })
  }
})

describe('A12: hosts', () => {
  const list = new HostList(['api.example.com', '*.Example.org', '10.0.0.7', '::1', 'bücher.example'], 'x')
  const host = (text: string): string => hostOf(new URL(text))

  test.each([
    'https://api.example.com/',
    'https://API.example.com./',
    'https://a.example.org/',
    'https://a.b.example.org/',
    'http://10.0.0.7/',
    'http://0x0a000007/',
    'http://[::1]/',
    'https://xn--bcher-kva.example/',
  ])('%s is on the list', (url) => expect(list.includes(host(url))).toBe(true))

  test.each([
    'https://example.com/',
    'https://evil-api.example.com/',
    'https://api.example.com.evil.test/',
    'https://example.org/',
    'https://notexample.org/',
    'http://10.0.0.70/',
  ])('%s is not', (url) => expect(list.includes(host(url))).toBe(false))

  test.each(['', '*', '*.', '*.0.0.1', 'a/b', 'a:80', 'u@a', 'https://a', 'a b', 'a.*.b'])(
    '%j is no host',
    (pattern) => {
      expect(() => new HostList([pattern], 'hosts')).toThrow(/hosts: .* expected hosts such as/)
    },
  )

  test('the nearest pattern fits best', () => {
    const fits = ['*.b.test', '*.a.b.test', 'x.a.b.test'].map((each) => matchScore(each, 'x.a.b.test', 'x'))
    expect(fits).toEqual(fits.toSorted((a, b) => a - b))
    expect(matchScore('*.a.test', 'x.a.b.test', 'x')).toBe(0)
  })
})
