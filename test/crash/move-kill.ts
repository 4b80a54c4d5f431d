// Moves runs in progress from SQLite to Postgres, and from there to S3 or a folder, and kills the moves.
// Usage: node test/crash/move-kill.ts --runs 10000 --kills 100 [--last radosgw|file] [--seed 1] [--pause-ms-max 4000]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startRadosgw } from '../support/radosgw.ts'
import { inFolder, onPostgres, reachable } from './kill.ts'
import { moveAndKill } from './move-kills.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '100' },
    last: { type: 'string', default: 'radosgw' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'pause-ms-max': { type: 'string', default: '4000' },
  },
})

console.log(`seed ${values.seed}`)
const radosgw = values.last === 'radosgw' ? await startRadosgw() : undefined
try {
  await inFolder((folder) =>
    onPostgres(async ({ store: postgres }) => {
      const last = radosgw ? await reachable(radosgw) : `file:${join(folder, 'objects')}`
      const { violations, ...report } = await moveAndKill({
        stores: [`sqlite:${join(folder, 'trial.db')}`, postgres, last],
        runs: Number(values.runs),
        kills: Number(values.kills),
        seed: Number(values.seed),
        pauseMsMax: Number(values['pause-ms-max']),
        progress: (text) => console.log(text),
      })
      console.log(JSON.stringify(report), `${violations.length} violations`)
      for (const violation of violations.slice(0, 20)) console.log(violation)
      if (violations.length > 0) process.exitCode = 1
    }),
  )
} finally {
  await radosgw?.stop()
}
