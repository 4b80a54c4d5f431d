import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { parseS3Url } from './s3-url.ts'

beforeEach(() => {
  vi.stubEnv('AWS_REGION', '')
  vi.stubEnv('AWS_DEFAULT_REGION', '')
})

afterEach(() => {
  vi.unstubAllEnvs()
})

test('S3 store: a URL names bucket, prefix, endpoint, region and profile', () => {
  expect(parseS3Url('s3://runs')).toEqual({
    bucket: 'runs',
    prefix: '',
    base: 'https://runs.s3.us-east-1.amazonaws.com/',
    region: 'us-east-1',
  })
  expect(parseS3Url('s3://runs/team%20a/pawl?region=eu-west-1&profile=work')).toEqual({
    bucket: 'runs',
    prefix: 'team a/pawl/',
    base: 'https://runs.s3.eu-west-1.amazonaws.com/',
    region: 'eu-west-1',
    profile: 'work',
  })
  const local = parseS3Url('s3://runs/pawl/?endpoint=http%3A%2F%2F127.0.0.1%3A9000')
  expect(local).toMatchObject({ prefix: 'pawl/', base: 'http://127.0.0.1:9000/runs/' })
  const below = parseS3Url('s3://runs?endpoint=https://example.com/storage/s3/')
  expect(below.base).toBe('https://example.com/storage/s3/runs/')
  expect(parseS3Url('s3://my.runs').base).toBe('https://s3.us-east-1.amazonaws.com/my.runs/')
  expect(parseS3Url('s3://runs?region=cn-north-1').base).toContain('.cn-north-1.amazonaws.com.cn/')
})

test('S3 store: the region comes from the URL, then from the environment', () => {
  vi.stubEnv('AWS_DEFAULT_REGION', 'eu-north-1')
  expect(parseS3Url('s3://runs').region).toBe('eu-north-1')
  vi.stubEnv('AWS_REGION', 'eu-south-1')
  expect(parseS3Url('s3://runs').region).toBe('eu-south-1')
  expect(parseS3Url('s3://runs?region=eu-west-2').region).toBe('eu-west-2')
})

test.each([
  's3:',
  's3://',
  's3:///prefix',
  's3://r',
  's3://runs/..',
  's3://runs/a/../b',
  's3://runs/%2e%2e/b',
  's3://runs/a/./b',
  's3://runs//b',
  's3://runs/a//',
  's3://runs/a%2Fb',
  's3://runs/%',
  's3://runs/a%00',
  's3://runs?pool=8',
  's3://runs?region=',
  's3://runs?region=a&region=b',
  's3://runs?region=evil.example.com/',
  's3://runs?endpoint=ftp://host',
  's3://runs?endpoint=host:9000',
  's3://runs?endpoint=https://host/?query',
  's3://runs#fragment',
])('S3 store, P15: %s is refused', (url) => {
  expect(() => parseS3Url(url)).toThrow(expect.objectContaining({ code: 'STORE_URL_INVALID' }))
})

test.each([
  's3://KEY:hush-hush@runs/prefix',
  's3://runs?endpoint=https://KEY:hush-hush@host',
  's3://runs?secret=hush-hush',
  's3://runs?endpoint=hush-hush',
])('S3 store: a secret in a URL is refused without being shown', (url) => {
  expect(() => parseS3Url(url)).toThrow(expect.objectContaining({ code: 'STORE_URL_INVALID' }))
  expect(() => parseS3Url(url)).not.toThrow(/hush/)
})
