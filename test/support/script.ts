// A server that a script of ours runs: it prints `ready`, lives as long as its input, and never outlives this process.

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
  /** In the folder of scripts, without its ending. */
  readonly name: string
  /** What to say of it if it does not start. */
  readonly what: string
  readonly ports: number
  /** What the script is given behind its folder. */
  readonly args: (ports: readonly number[]) => readonly string[]
}

const startAttemptsMax = 3

/** Long enough for packages to be downloaded and installed. */
export const scriptStartMsMax = 300_000

export async function startScript(script: Script): Promise<RunningScript> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(script)
    } catch (error) {
      // A port that was free a moment ago may have been taken since.
      if (attempt === startAttemptsMax) throw error
    }
  }
}

async function startOnce({ name, what, ports: count, args }: Script): Promise<RunningScript> {
  const folder = await mkdtemp(join(tmpdir(), `pawl-${name}-`))
  const ports = await freePorts(count)
  const program = fileURLToPath(new URL(`../../scripts/${name}.sh`, import.meta.url))
  // Apart from our group, so that an interrupt from the keyboard reaches us first.
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
