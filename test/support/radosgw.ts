// A real S3 server for tests: Ceph's radosgw. It takes 15 s to start, so all tests of a run share one, and it starts
// only if a test needs it. It never outlives the process that started it.

import { randomBytes } from 'node:crypto'
import { AwsClient } from 'aws4fetch'
import { scriptStartMsMax, startScript } from './script.ts'

export type Identity = { readonly accessKeyId: string; readonly secretAccessKey: string }

export type Radosgw = { readonly endpoint: string; readonly credentials: Identity }

export type RunningRadosgw = Radosgw & { stop(): Promise<void> }

export const radosgwStartMsMax = scriptStartMsMax

export async function startRadosgw(): Promise<RunningRadosgw> {
  const credentials = { accessKeyId: 'testkey', secretAccessKey: randomBytes(15).toString('hex') }
  const { accessKeyId, secretAccessKey } = credentials
  const { ports, stop } = await startScript({
    name: 'radosgw',
    what: 'radosgw, the real S3 server of these tests,',
    ports: 3,
    args: (given) => [...given.map(String), accessKeyId, secretAccessKey],
  })
  return { endpoint: `http://127.0.0.1:${ports[0]}`, credentials, stop }
}

/** Returns the server that all tests share. `door` is `inject('radosgwDoor')`. */
export async function sharedRadosgw(door: string): Promise<Radosgw> {
  const response = await fetch(door)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Radosgw
}

/** Creates a bucket, and returns its store URL. */
export async function freshBucket({ endpoint, credentials }: Radosgw): Promise<string> {
  const name = `pawl-test-${randomBytes(8).toString('hex')}`
  const client = new AwsClient({
    ...credentials,
    service: 's3',
    region: 'us-east-1',
    retries: 0,
  })
  const response = await client.fetch(`${endpoint}/${name}`, { method: 'PUT' })
  if (!response.ok) throw new Error(`no bucket could be made: ${await response.text()}`)
  return `s3://${name}/?endpoint=${encodeURIComponent(endpoint)}`
}
