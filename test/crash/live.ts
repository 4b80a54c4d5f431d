// Kills servers and workers while clients follow runs by live events, then compares what they got with the histories.
// Usage: node test/crash/live.ts --store sqlite|postgres --kills 200 [--readers 12] [--seed 1] [--pause-ms 600]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { inFolder, onPostgres } from './kill.ts'
import { describeLive, killLive } from './live-kills.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '200' },
    readers: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'pause-ms': { type: 'string', default: '600' },
  },
})
const run = async (store: string): Promise<void> => {
  const [kills, readers, seed, pauseMs] = [values.kills, values.readers, values.seed, values['pause-ms']].map(Number)
  console.log(`seed ${seed}`)
  const report = await killLive({
    ...{ store, kills: kills ?? 200, readers: readers ?? 12, seed: seed ?? 1, pauseMs: pauseMs ?? 600 },
    progress: (text) => console.log(text),
  })
  console.log(describeLive(report))
  if (report.violations.length > 0) process.exitCode = 1
}
if (values.store === 'postgres') await onPostgres(({ store }) => run(store))
else await inFolder((folder) => run(`sqlite:${join(folder, 'live.db')}`))
