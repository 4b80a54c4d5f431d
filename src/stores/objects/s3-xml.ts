// The little XML that S3 speaks. What comes from the server is not trusted to be what it should.
import type { Listing } from './bucket.ts'

export interface ListAnswer {
  readonly truncated: boolean
  readonly listings: readonly Listing[]
}

/** An answer to ListObjectsV2 that was asked for with encoding-type=url. */
export function readList(xml: string): ListAnswer {
  const [list] = elements(xml, 'ListBucketResult')
  if (list === undefined) throw new Error('the answer is not a list of objects')
  return {
    truncated: text(list, 'IsTruncated') === 'true',
    listings: elements(list, 'Contents').map(readListing),
  }
}

function readListing(contents: string): Listing {
  const key = text(contents, 'Key')
  const bytes = Number(text(contents, 'Size') ?? Number.NaN)
  const modifiedAt = Date.parse(text(contents, 'LastModified') ?? '')
  if (key === undefined || !Number.isInteger(bytes) || Number.isNaN(modifiedAt)) {
    throw new Error('the list of objects has an entry that cannot be read')
  }
  // In this encoding a plus is a space, and a real plus is %2B.
  return { key: decodeURIComponent(key.replaceAll('+', ' ')), bytes, modifiedAt }
}

export interface ErrorAnswer {
  /** Empty if the answer is not S3's. */
  readonly code: string
  readonly message: string
  /** The region where the bucket is, if the error is that it is not here. */
  readonly region?: string
}

export function readError(xml: string): ErrorAnswer {
  const [error = ''] = elements(xml, 'Error')
  const region = text(error, 'Region')
  return {
    code: text(error, 'Code') ?? '',
    message: (text(error, 'Message') ?? '').slice(0, 300),
    ...(region && { region }),
  }
}

/** What is inside each element of this name. None of S3's elements contains one of its own name. */
function elements(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([^]*?)</${name}\\s*>`, 'g'))
  return Array.from(found, ([, inside = '']) => inside)
}

function text(xml: string, name: string): string | undefined {
  const [inside] = elements(xml, name)
  return inside === undefined ? undefined : unescaped(inside)
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function unescaped(given: string): string {
  return given.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]+);/gi, (whole, entity: string) => {
    if (!entity.startsWith('#')) return NAMED[entity] ?? whole
    const hexadecimal = entity.charAt(1).toLowerCase() === 'x'
    const point = Number.parseInt(entity.slice(hexadecimal ? 2 : 1), hexadecimal ? 16 : 10)
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}
