// Runs the long kill command from a test, and gives its report.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { KillReport } from './kill-workers.ts'

export async function killCommand(options: Readonly<Record<string, string | number>>): Promise<KillReport> {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const script = join(import.meta.dirname, 'kill.ts')
  const child = spawn(process.execPath, [script, '--json', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  await once(child, 'close')
  const report = output.trim().split('\n').at(-1) ?? ''
  if (!report.startsWith('{')) throw new Error(`kill.ts gave no report:\n${output}${errors}`)
  return JSON.parse(report) as KillReport
}
