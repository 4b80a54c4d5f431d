// Opens a store from its URL: on S3, or on a folder used like a bucket.

import { PawlError } from '../../core/base/errors.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { consoleLogger } from '../../core/runtime/logger.ts'
import { parametersOf } from '../url-parameters.ts'
import type { Bucket } from './bucket.ts'
import { DirectoryBucket } from './directory-bucket.ts'
import { ABOUT } from './layout.ts'
import { probe } from './probe.ts'
import { S3Bucket, type S3Options } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'
import { ObjectStore, type ObjectStoreOptions } from './store.ts'

export interface OpenObjectsOptions extends Omit<ObjectStoreOptions, 'bucket' | 'clock' | 'name'> {
  readonly s3?: S3Options
}

export async function openObjects(given: string, clock: Clock, options: OpenObjectsOptions = {}): Promise<ObjectStore> {
  const { url, own } = takeApart(given)
  const { s3, ...rest } = options
  const onError = (error: unknown): void =>
    consoleLogger.log('warn', `compaction failed and will be tried again: ${String(error)}`)
  const isFolder = /^file:/i.test(url)
  const bucket = isFolder ? await DirectoryBucket.open(url, clock) : await S3Bucket.open(parseS3Url(url), clock, s3)
  try {
    await prepare(bucket)
    const store = new ObjectStore({
      bucket,
      clock,
      onError,
      ...rest,
      name: isFolder ? 'file' : 's3',
      projects: isProjecting(own.get('project')),
      settings: { ...rest.settings, ...retentionOf(own.get('retention')) },
    })
    await store.open()
    return store
  } catch (error) {
    await bucket.close()
    throw error
  }
}

/** Opens the bucket without reading it. */
export async function openBucket(given: string, clock: Clock, s3?: S3Options): Promise<Bucket> {
  const { url } = takeApart(given)
  return /^file:/i.test(url) ? DirectoryBucket.open(url, clock) : S3Bucket.open(parseS3Url(url), clock, s3)
}

// Probes a new prefix. One that passed has the object `pawl.json`, and is not probed again.
async function prepare(bucket: Bucket): Promise<void> {
  if ((await bucket.get(ABOUT)) !== undefined) return
  await probe(bucket)
  const about = {
    pawl: 1,
    about:
      'This is a store of pawl, a durable workflow engine. Do not change log/, snapshots/, parts/ and ended/; runs/ and names/ are readable copies.',
  }
  await bucket.create(ABOUT, `${JSON.stringify(about, null, 2)}\n`)
}

const OWN: ReadonlySet<string> = new Set(['retention', 'project'])

/** Splits the store's own parameters from the URL; the rest of the URL is the bucket's. */
function takeApart(given: string): { url: string; own: ReadonlyMap<string, string> } {
  const [base = '', query] = given.split(/\?(.*)/s)
  const own = new Map<string, string>()
  const rest = (query ?? '').split('&').filter((part) => {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    if (!OWN.has(name)) return part !== ''
    own.set(name, decoded(name, value))
    return false
  })
  if (/^file:/i.test(base)) parametersOf(rest.join('&'), 'file', [...OWN])
  return { url: rest.length > 0 ? `${base}?${rest.join('&')}` : base, own }
}

function decoded(name: string, value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new PawlError(
      'STORE_URL_INVALID',
      `the ${name} of the store URL has a % that is not followed by two hexadecimal digits. Write %25 for a %.`,
    )
  }
}

function isProjecting(text: string | undefined): boolean {
  if (text === undefined || text === 'on' || text === 'off') return text !== 'off'
  throw new PawlError(
    'STORE_URL_INVALID',
    `the store URL has project=${text}, but project is on or off. Write project=off, or leave it out.`,
  )
}

function retentionOf(text: string | undefined): { retentionMs?: number } {
  if (text === undefined) return {}
  try {
    return { retentionMs: milliseconds(text as Duration, 'retention') }
  } catch (error) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `the store URL has retention=${text}, but retention is a duration: write for example 30d (${(error as Error).message}).`,
    )
  }
}
