// Which bucket, where, and under which prefix: `s3://bucket/prefix?endpoint=https://host&region=eu-west-1`.
import { PawlError } from '../../core/base/errors.ts'
import { environment } from '../../core/runtime/environment.ts'
import { parametersOf } from '../url-parameters.ts'

export interface S3Location {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
  /** Where the objects are: a key that is encoded for a URL is put behind it. */
  readonly base: string
  readonly region: string
  readonly profile?: string
}

const EXAMPLE = "Expected 's3://bucket/prefix?endpoint=https://host&region=eu-west-1'"

/** The store's own parameters are taken off before, and are named so that a slip in one of them is recognised. */
const PARAMETERS = ['endpoint', 'region', 'profile', 'retention', 'project']

/** The URL is taken apart by hand, because a URL resolves `..` before one can refuse it. It is never quoted: it may hold secrets. */
export function parseS3Url(url: string): S3Location {
  const [, bucket = '', path = '', query = ''] =
    /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(url) ??
    refuse('the S3 URL cannot be read')
  if (bucket.includes('@')) {
    refuse(
      'credentials do not belong into the S3 URL. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    )
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket)) refuse(`'${bucket}' cannot be a bucket`)
  const parameters = parametersOf(query, 's3', PARAMETERS)
  const region =
    parameters.get('region') ??
    environment('AWS_REGION') ??
    environment('AWS_DEFAULT_REGION') ??
    'us-east-1'
  if (!/^[a-z0-9-]+$/i.test(region)) refuse(`'${region}' cannot be a region`)
  const profile = parameters.get('profile')
  const base = baseOf(bucket, region, parameters.get('endpoint'))
  return { bucket, prefix: prefixOf(path), base, region, ...(profile && { profile }) }
}

function prefixOf(path: string): string {
  const segments = path.replace(/\/$/, '').split('/').map(decoded)
  if (segments.length === 1 && segments[0] === '') return ''
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..' || /[/\0]/.test(segment)) {
      refuse(`the prefix has the segment '${segment.replaceAll('\0', '\\0')}'`)
    }
  }
  return `${segments.join('/')}/`
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return refuse('the prefix has a % that is not followed by two digits, or is no text')
  }
}

function baseOf(bucket: string, region: string, endpoint: string | undefined): string {
  if (endpoint === undefined) {
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
    // The certificate of *.s3 holds for one label only.
    const inHost = !/[._]|[A-Z]/.test(bucket)
    return inHost
      ? `https://${bucket}.s3.${region}.${domain}/`
      : `https://s3.${region}.${domain}/${bucket}/`
  }
  const { protocol, username, password, search, hash, origin, pathname } = URL.canParse(endpoint)
    ? new URL(endpoint)
    : refuse('the endpoint is no URL')
  if (protocol !== 'https:' && protocol !== 'http:') refuse('the endpoint is not http or https')
  if (username || password) refuse('credentials do not belong into the endpoint')
  if (search || hash) refuse('the endpoint is more than a host and a path')
  return `${origin}${pathname.replace(/\/$/, '')}/${bucket}/`
}

function refuse(problem: string): never {
  throw new PawlError('STORE_URL_INVALID', `${problem}. ${EXAMPLE}.`)
}
