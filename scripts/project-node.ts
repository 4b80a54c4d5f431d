// The project brings its own Node as a development dependency; whatever Node starts a script, the
// work is done by that one.

import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

const nodeMajorMin = 24
const binFolder = join(root, 'node_modules', '.bin')

/** Puts the project's programs first on the path, and starts `script` again if this Node is old. */
export async function runOnProjectNode(script: string): Promise<void> {
  process.env['PATH'] = [binFolder, process.env['PATH']].join(delimiter)
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return
  const args = [script, ...process.argv.slice(2)]
  const { status, error } = spawnSync(join(binFolder, 'node'), args, { stdio: 'inherit' })
  if (error !== undefined) console.error(`run npm ci first: ${error.message}`)
  process.exit(status ?? 1)
}
