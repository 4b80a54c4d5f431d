// Runs scripts with the Node that is a development dependency of the project, whichever Node starts them.

import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

const nodeMajorMin = 24
const binFolder = join(root, 'node_modules', '.bin')

/** Puts the project's programs first on the path, and starts `script` again if this Node is too old. */
export async function runOnProjectNode(script: string): Promise<void> {
  process.env['PATH'] = [binFolder, process.env['PATH']].join(delimiter)
  if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) return
  const args = [script, ...process.argv.slice(2)]
  const { status, error } = spawnSync(join(binFolder, 'node'), args, { stdio: 'inherit' })
  if (error !== undefined) console.error(`the project's Node did not start: ${error.message}. Run npm ci.`)
  process.exit(status ?? 1)
}
