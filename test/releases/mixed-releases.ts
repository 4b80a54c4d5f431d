// Kills workers of two releases on one store, while a client starts runs, then judges what is left. Run as an earlier
// release (`asRelease`), its client is of that one, too, and the store is created by it.
// Usage: node test/crash/mixed-releases.ts <store url> <folder of a release> <that of another> <kills> <runs> <seed>
import { killWorkers } from '../crash/kill-workers.ts'

const [, , store = '', one = '', other = '', kills = '8', runs = '100', seed = '1'] = process.argv
const report = await killWorkers({
  ...{ store, kills: Number(kills), runs: Number(runs), seed: Number(seed), stops: 0, workers: 4, pauseMs: 400 },
  // Each serves every queue with two of four. Processes that are killed are replaced by either.
  releaseOf: (n) => ((n & 2) === 0 ? one : other),
})
console.log(JSON.stringify(report))
