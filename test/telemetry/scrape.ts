// The text format of Prometheus, as tests read it; and its own checker.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The value of each sample, by its name and labels as written. */
export function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

/** What promtool says. Fails if promtool cannot be had. */
export function promtool(args: readonly string[], input = ''): string {
  const script = fileURLToPath(new URL('../../scripts/promtool.sh', import.meta.url))
  const { status, stdout, stderr } = spawnSync(script, args, { input, encoding: 'utf8' })
  if (status === 3 || status === null) throw new Error(`promtool did not run: ${stderr}`)
  return `${stdout}${stderr}`
}
