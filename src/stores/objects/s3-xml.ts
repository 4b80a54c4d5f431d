// Reads the XML of S3's responses. The server is not trusted: malformed responses are rejected.
import type { Listing } from './bucket.ts'

export interface ListAnswer {
  readonly truncated: boolean
  readonly listings: readonly Listing[]
}

/** Reads a response to ListObjectsV2 with encoding-type=url. */
export function readList(xml: string): ListAnswer {
  const [list] = elements(xml, 'ListBucketResult')
  if (list === undefined) throw new Error('the response is not a list of objects')
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
    throw new Error('the list of objects has an entry without a valid key, size or date')
  }
  // In this encoding a plus stands for a space, and %2B for a plus.
  return { key: decodeURIComponent(key.replaceAll('+', ' ')), bytes, modifiedAt }
}

export interface ErrorAnswer {
  /** Empty if the body is not an error of S3. */
  readonly code: string
  readonly message: string
  /** The region of the bucket, if the request went to another one. */
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

/** Returns the content of each element of this name. No element of S3 contains one of its own name. */
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
