// Runs a server by a script of `scripts/`: it prints `ready`, runs until its standard input ends, and never outlives
// this process.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface RunningScript {
  readonly ports: readonly number[]
  readonly stop: () => Promise<void>
}

export interface Script {
  /** The name of the script in `scripts/`, without its extension. */
  readonly name: string
  /** The text of the error if the server does not start. */
  readonly what: string
  readonly ports: number
  /** The arguments of the script after its folder. */
  readonly args: (ports: readonly number[]) => readonly string[]
}

const startAttemptsMax = 3

/** Long enough to download and install packages. */
export const scriptStartMsMax = 300_000

export async function startScript(script: Script): Promise<RunningScript> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(script)
    } catch (error) {
      // Another process may have taken the port meanwhile.
      if (attempt === startAttemptsMax) throw error
    }
  }
}

async function startOnce({ name, what, ports: count, args }: Script): Promise<RunningScript> {
  const folder = await mkdtemp(join(tmpdir(), `pawl-${name}-`))
  const ports = await freePorts(count)
  const program = fileURLToPath(new URL(`../../scripts/${name}.sh`, import.meta.url))
  // In its own process group, so that Ctrl-C reaches this process first.
  const child = spawn(program, [folder, ...args(ports)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').catch((error: unknown) => [error])
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  const ready = new Promise<true>((resolve) => {
    child.stdout.on('data', (chunk) => String(chunk).includes('ready') && resolve(true))
  })
  if ((await Promise.race([ready, exited])) !== true)
    throw new Error(`${what} could not be started (scripts/${name}.sh):\n${errors}`)
  const stop = async (): Promise<void> => {
    child.stdin.end()
    await exited
  }
  return { ports, stop }
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
