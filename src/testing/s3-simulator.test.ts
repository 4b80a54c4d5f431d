// Compares the simulator with a real server. Differences are listed here with their reasons, and the store must work
// with both.
import { AwsClient } from 'aws4fetch'
import { expect, inject, test } from 'vitest'
import { freshBucket, type Identity, radosgwStartMsMax, sharedRadosgw } from '../../test/support/radosgw.ts'
import { readError } from '../stores/objects/s3-xml.ts'
import { startS3Simulator } from './s3-simulator.ts'

interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly secretAccessKey?: string
  readonly datetime?: string
  readonly unsigned?: true
}

/** Requests in sequence on an empty bucket. `5d41…` is the MD5 of `hello`. */
const requests: Readonly<Record<string, Request>> = {
  create: { method: 'PUT', path: 'a', headers: { 'if-none-match': '*' }, body: 'hello' },
  'create again': { method: 'PUT', path: 'a', headers: { 'if-none-match': '*' }, body: 'x' },
  read: { method: 'GET', path: 'a' },
  'read the head': { method: 'HEAD', path: 'a' },
  'read a part': { method: 'GET', path: 'a', headers: { range: 'bytes=1-2' } },
  'read beyond the end': { method: 'GET', path: 'a', headers: { range: 'bytes=3-99' } },
  'read from behind the end': { method: 'GET', path: 'a', headers: { range: 'bytes=5-9' } },
  'read what is missing': { method: 'GET', path: 'missing' },
  'read the head of what is missing': { method: 'HEAD', path: 'missing' },
  'replace what changed': { method: 'PUT', path: 'a', headers: { 'if-match': 'stale' }, body: 'x' },
  'replace, unquoted': {
    method: 'PUT',
    path: 'a',
    headers: { 'if-match': '5d41402abc4b2a76b9719d911017c592' },
    body: 'hello',
  },
  'replace, quoted': {
    method: 'PUT',
    path: 'a',
    headers: { 'if-match': '"5d41402abc4b2a76b9719d911017c592"' },
    body: 'hello',
  },
  'replace what is missing': { method: 'PUT', path: 'no', headers: { 'if-match': 'x' }, body: 'x' },
  'create unless this tag': {
    method: 'PUT',
    path: 'tag',
    headers: { 'if-none-match': '"x"' },
    body: 'x',
  },
  delete: { method: 'DELETE', path: 'a' },
  'delete what is missing': { method: 'DELETE', path: 'a' },
  list: { method: 'GET', path: '?list-type=2' },
  'another bucket': { method: 'GET', path: '../pawl-is-not-there/a' },
  'a wrong secret': { method: 'GET', path: 'a', secretAccessKey: 'wrong' },
  'no signature': { method: 'GET', path: 'a', unsigned: true },
  'an old signature': { method: 'GET', path: 'a', datetime: '20200101T000000Z' },
  'a body that is not the one signed': {
    method: 'PUT',
    path: 'damaged',
    headers: { 'x-amz-content-sha256': '0'.repeat(64) },
    body: 'x',
  },
  'a key that is too long': { method: 'PUT', path: 'x'.repeat(1_025), body: 'x' },
}

const KNOWN_DIFFERENCES = [
  // AWS accepts an ETag with its quotes, radosgw only without. The store does not use If-Match.
  'replace, quoted: 200, radosgw 412 PreconditionFailed',
  // As AWS documents it.
  'replace what is missing: 404 NoSuchKey, radosgw 412 PreconditionFailed',
  // AWS accepts only `*` here.
  'create unless this tag: 501 NotImplemented, radosgw 412 PreconditionFailed',
  'a key that is too long: 400 KeyTooLongError, radosgw 400 InvalidObjectName',
]

async function answersOf(base: string, identity: Identity): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  for (const [name, request] of Object.entries(requests)) {
    const { method, path, headers = {}, body, secretAccessKey, datetime, unsigned } = request
    const client = new AwsClient({
      ...identity,
      ...(secretAccessKey && { secretAccessKey }),
      service: 's3',
      region: 'us-east-1',
      retries: 0,
    })
    const init = { method, headers, ...(body !== undefined && { body }) }
    const url = new URL(path, base)
    const response = unsigned
      ? await fetch(url, init)
      : await client.fetch(url, { ...init, aws: { ...(datetime && { datetime }) } })
    const text = await response.text()
    answers[name] = [response.status, response.ok ? '' : readError(text).code].join(' ').trim()
  }
  return answers
}

test('S3 simulator: it answers as radosgw does, but for what is listed', {
  timeout: radosgwStartMsMax,
}, async () => {
  const server = await sharedRadosgw(inject('radosgwDoor'))
  const real = await freshBucket(server)
  const bucket = /^s3:\/\/([^/]+)/.exec(real)?.[1] ?? ''
  const simulator = await startS3Simulator({ bucket })
  try {
    const [ours, theirs] = await Promise.all([
      answersOf(`${simulator.endpoint}/${bucket}/`, simulator.credentials as Identity),
      answersOf(`${server.endpoint}/${bucket}/`, server.credentials),
    ])
    const differences = Object.keys(requests)
      .filter((name) => ours[name] !== theirs[name])
      .map((name) => `${name}: ${ours[name]}, radosgw ${theirs[name]}`)
    expect(differences).toEqual(KNOWN_DIFFERENCES)
  } finally {
    await simulator.stop()
  }
})
