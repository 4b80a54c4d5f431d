// Writes to a SQLite file as often as it can for a while, and says how often that was. A program of sqlite-lock.test.ts.
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { SqliteStore } from '../../src/stores/sqlite/index.ts'
import { newRun } from '../../src/testing/conformance/builders.ts'

const [url = '', ms = '0'] = process.argv.slice(2)
const store = await SqliteStore.open(url, systemClock)
process.stdout.write('ready\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
const begun = systemClock.monotonic()
let writes = 0
let slowest = 0
while (systemClock.monotonic() - begun < Number(ms)) {
  const asked = systemClock.monotonic()
  await store.create([newRun(randomUUID())])
  slowest = Math.max(slowest, systemClock.monotonic() - asked)
  writes++
}
await store.close()
process.stdout.write(`${JSON.stringify({ writes, slowest })}\n`)
