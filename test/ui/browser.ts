// Chromium, for tests and pictures of the web UI.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

const root = join(import.meta.dirname, '..', '..')
const execute = promisify(execFile)

/** Builds the UI if its files have changed, and starts a browser. */
export async function openBrowser(): Promise<Browser> {
  await execute(process.execPath, [join(root, 'scripts', 'build-ui.ts'), '--if-needed'], { cwd: root })
  const { stdout } = await execute(join(root, 'scripts', 'chromium.sh'))
  const quietly = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quietly]
  return chromium.launch({ executablePath: stdout.trim(), args })
}
