// Kills writers, readers and servers of streams, then compares what every reader got with what was acknowledged.
// Usage: node test/crash/streams.ts --store sqlite|postgres --kills 600 [--seed 1] [--pause-ms 400]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { inFolder, onPostgres } from './kill.ts'
import { describeStreams, killStreams } from './stream-kills.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'pause-ms': { type: 'string', default: '400' },
  },
})
const run = async (store: string): Promise<void> => {
  const [kills, seed, pauseMs] = [values.kills, values.seed, values['pause-ms']].map(Number)
  console.log(`seed ${seed}`)
  const report = await killStreams({
    ...{ store, kills: kills ?? 600, seed: seed ?? 1, pauseMs: pauseMs ?? 400 },
    progress: (text) => console.log(text),
  })
  console.log(describeStreams(report))
  if (report.violations.length > 0) process.exitCode = 1
}
if (values.store === 'postgres') await onPostgres(({ store }) => run(store))
else await inFolder((folder) => run(`sqlite:${join(folder, 'streams.db')}`))
