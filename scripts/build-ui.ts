// Builds the web UI into dist/ui. `--if-needed` does so only if a file of it has changed since.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './project-node.ts'

export async function buildUi(): Promise<void> {
  // A test runner sets it, and React would be built for development.
  process.env['NODE_ENV'] = 'production'
  await build({ configFile: join(root, 'ui', 'vite.config.ts') })
}

async function isNeeded(): Promise<boolean> {
  const built = await stat(join(root, 'dist', 'ui', 'index.html')).catch(() => undefined)
  if (!built) return true
  const changed = await Promise.all(['ui', 'src/remote', 'src/operations', 'src/core/base'].map(newest))
  return changed.some((ms) => ms > built.mtimeMs)
}

async function newest(folder: string): Promise<number> {
  const files = await readdir(join(root, folder), { recursive: true })
  const times = await Promise.all(files.map(async (file) => (await stat(join(root, folder, file))).mtimeMs))
  return Math.max(...times)
}

if (import.meta.main && (!process.argv.includes('--if-needed') || (await isNeeded()))) await buildUi()
