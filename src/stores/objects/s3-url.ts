// Reads an S3 store URL: `s3://bucket/prefix?endpoint=https://host&region=eu-west-1`.
import { PawlError } from '../../core/base/errors.ts'
import { environment } from '../../core/runtime/process.ts'
import { parametersOf } from '../url-parameters.ts'

export interface S3Location {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
  /** The URL of the bucket; an encoded key is appended. */
  readonly base: string
  readonly region: string
  readonly profile?: string
}

const EXAMPLE = "Expected 's3://bucket/prefix?endpoint=https://host&region=eu-west-1'"

/**
 * The store removes its own parameters before; they are listed so that the error about a misspelt one can name them.
 */
const PARAMETERS = ['endpoint', 'region', 'profile', 'retention', 'project']

/**
 * Does not use `URL`, because that resolves `..` before it can be rejected. Errors never quote the whole URL, because
 * it may contain secrets.
 */
export function parseS3Url(url: string): S3Location {
  const [, bucket = '', path = '', query = ''] =
    /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(url) ?? refuse('the S3 URL is malformed')
  if (bucket.includes('@')) {
    refuse('the S3 URL contains credentials. Remove them, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket)) refuse(`'${bucket}' in the S3 URL is not a bucket name`)
  const parameters = parametersOf(query, 's3', PARAMETERS)
  const region =
    parameters.get('region') ?? environment('AWS_REGION') ?? environment('AWS_DEFAULT_REGION') ?? 'us-east-1'
  if (!/^[a-z0-9-]+$/i.test(region)) refuse(`'${region}' is not a region`)
  const profile = parameters.get('profile')
  const base = baseOf(bucket, region, parameters.get('endpoint'))
  return { bucket, prefix: prefixOf(path), base, region, ...(profile && { profile }) }
}

function prefixOf(path: string): string {
  const segments = path.replace(/\/$/, '').split('/').map(decoded)
  if (segments.length === 1 && segments[0] === '') return ''
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..' || /[/\0]/.test(segment)) {
      refuse(`the prefix of the S3 URL has the segment '${segment.replaceAll('\0', '\\0')}', which no key may have`)
    }
  }
  return `${segments.join('/')}/`
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return refuse('the prefix of the S3 URL has a % that does not encode a character')
  }
}

function baseOf(bucket: string, region: string, endpoint: string | undefined): string {
  if (endpoint === undefined) {
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
    // The certificate of *.s3 is valid for one label only, so a bucket with a full stop goes into the path.
    const inHost = !/[._]|[A-Z]/.test(bucket)
    return inHost ? `https://${bucket}.s3.${region}.${domain}/` : `https://s3.${region}.${domain}/${bucket}/`
  }
  const { protocol, username, password, search, hash, origin, pathname } = URL.canParse(endpoint)
    ? new URL(endpoint)
    : refuse('the endpoint of the S3 URL is not a URL')
  if (protocol !== 'https:' && protocol !== 'http:') refuse('the endpoint of the S3 URL is not http or https')
  if (username || password) refuse('the endpoint of the S3 URL contains credentials. Remove them')
  if (search || hash) refuse('the endpoint of the S3 URL has more than a host and a path')
  return `${origin}${pathname.replace(/\/$/, '')}/${bucket}/`
}

function refuse(problem: string): never {
  throw new PawlError('STORE_URL_INVALID', `${problem}. ${EXAMPLE}.`)
}
