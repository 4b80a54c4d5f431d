// Clocks that are set back and forward, by seconds and by an hour, while steps run: that of the machine on SQLite, that of
// the server on Postgres. The long form is `node test/crash/kill.ts --store sqlite --clock-jumps 100`.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type FakedTime, fakeTime, faketimeInstallMsMax } from '../support/faketime.ts'
import { killCommand } from './kill-command.ts'
import { describeReport } from './kill-workers.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)

let time: FakedTime | undefined
beforeAll(async () => {
  time = await fakeTime()
}, faketimeInstallMsMax)
afterAll(() => time?.remove())

test('the wall clock of a process can be set, and its monotonic clock stays', async () => {
  const script = `
    const read = () => [Date.now(), performance.now()]
    const before = read()
    require('node:fs').writeFileSync(process.env.FAKETIME_TIMESTAMP_FILE, '-3600s\\n')
    const after = read()
    console.log(JSON.stringify(after.map((each, n) => each - before[n])))`
  const env = { ...process.env, ...time?.environment }
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env })
  const [wall = 0, monotonic = 0] = JSON.parse(stdout) as readonly number[]
  expect(Math.round(wall / 60_000)).toBe(-60)
  expect(monotonic).toBeGreaterThan(0)
})

vi.setConfig({ maxConcurrency: 2 })

// One clock jump of each kind, and two kills, so that what a jump leaves behind is taken over, too.
const blows = { kills: 2, stops: 0, 'clock-jumps': 6 }
const pace = {
  runs: 150,
  workers: 3,
  'pause-ms': 1_200,
  'step-ms-max': 600,
  'settle-ms-max': 60_000,
}

describe.concurrent.each(['sqlite', 'postgres'])('on %s', (store) => {
  test('stores D2, faults 2.1: a clock that is set costs time, and nothing else', {
    timeout: 180_000,
  }, async () => {
    console.log(`clocks ${store}: seed ${seed}`)
    const report = await killCommand({ store, seed, ...blows, ...pace })
    console.log(`clocks ${store}:\n${describeReport(report)}`)
    expect(report.violations, describeReport(report)).toEqual([])
    expect(report.clockJumps).toBe(6)
    expect(report.succeeded).toBe(report.operations)
  })
})
