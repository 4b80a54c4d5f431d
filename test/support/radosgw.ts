// A real S3 server for tests: Ceph's radosgw. It takes a quarter of a minute to start, so there is one for a whole
// run of the tests, and only if some test asks for it. It never outlives the process that started it.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AwsClient } from 'aws4fetch'

export type Identity = { readonly accessKeyId: string; readonly secretAccessKey: string }

export type Radosgw = { readonly endpoint: string; readonly credentials: Identity }

export type RunningRadosgw = Radosgw & { stop(): Promise<void> }

/** Long enough for the packages to be downloaded and installed. */
export const radosgwStartMsMax = 300_000

const startAttemptsMax = 3
const script = fileURLToPath(new URL('../../scripts/radosgw.sh', import.meta.url))

export async function startRadosgw(): Promise<RunningRadosgw> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce()
    } catch (error) {
      // A port that was free a moment ago may have been taken since.
      if (attempt === startAttemptsMax) throw error
    }
  }
}

async function startOnce(): Promise<RunningRadosgw> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-radosgw-'))
  const ports = await freePorts(3)
  const credentials = { accessKeyId: 'testkey', secretAccessKey: randomBytes(15).toString('hex') }
  const { accessKeyId, secretAccessKey } = credentials
  const args = [folder, ...ports.map(String), accessKeyId, secretAccessKey]
  // Apart from our group, so that an interrupt from the keyboard reaches us first.
  const child = spawn(script, args, { detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const exited = once(child, 'exit').catch((error: unknown) => [error])
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  const ready = new Promise<true>((resolve) => {
    child.stdout.on('data', (chunk) => String(chunk).includes('ready') && resolve(true))
  })
  if ((await Promise.race([ready, exited])) !== true) {
    throw new Error(
      `radosgw, the real S3 server of these tests, could not be started (scripts/radosgw.sh):\n${errors}`,
    )
  }
  const stop = async (): Promise<void> => {
    child.stdin.end()
    await exited
  }
  return { endpoint: `http://127.0.0.1:${ports[0]}`, credentials, stop }
}

/** The one that all tests share. `door` is `inject('radosgwDoor')`. */
export async function sharedRadosgw(door: string): Promise<Radosgw> {
  const response = await fetch(door)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Radosgw
}

/** A bucket of its own, as a store URL. */
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

async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(listeners.map((listener) => once(listener, 'listening')))
  const ports = listeners.map((listener) => {
    const address = listener.address()
    if (address === null || typeof address === 'string') throw new Error('no free port')
    return address.port
  })
  await Promise.all(listeners.map((listener) => once(listener.close(), 'close')))
  return ports
}
