// A process hears of another's write soon after it was made, whatever it writes itself.
import { appendFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../core/runtime/clock.ts'
import { LogWatch } from './log-watch.ts'

interface Timer {
  readonly ms: number
  readonly fire: () => void
}

let folder: string
let timers: Timer[]
let version: number
let heard: number
let watch: LogWatch

// Nothing fires but by hand, so that a look can be made to wait while the file is touched again.
const clock: Clock = {
  ...systemClock,
  after(ms, fire) {
    const timer = { ms, fire }
    timers.push(timer)
    return () => {
      timers = timers.filter((each) => each !== timer)
    }
  },
}

const log = (): string => join(folder, 'a.db-wal')
const waits = (): number[] => timers.map(({ ms }) => ms)
const fire = (): void => timers.shift()?.fire()

async function touched(): Promise<void> {
  appendFileSync(log(), 'frame')
  await vi.waitFor(() => expect(waits()).toEqual([1]))
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-log-'))
  writeFileSync(log(), '')
  timers = []
  version = 1
  heard = 0
  const changed = () => heard++
  watch = new LogWatch({ file: join(folder, 'a.db'), clock, version: () => version, changed })
})
afterEach(async () => {
  watch.close()
  await rm(folder, { recursive: true })
})

test('a touch is looked at, and again a few times if the write behind it is not visible yet', async () => {
  await touched()
  const seen: number[] = []
  while (timers.length > 0) {
    seen.push(...waits())
    fire()
  }
  expect(seen).toEqual([1, 2, 4, 8, 16, 32, 64])
  expect(heard).toBe(0)
})

test("another process's write is told once", async () => {
  await touched()
  version = 2
  fire()
  expect(heard).toBe(1)
  expect(waits()).toEqual([])
})

test('W6: a touch does not wait for the late looks that an earlier one led to', async () => {
  await touched()
  for (let looks = 0; looks < 6; looks++) fire()
  expect(waits()).toEqual([64])
  await touched()
  version = 2
  fire()
  expect(heard).toBe(1)
})

test('a closed watch looks no more', async () => {
  await touched()
  watch.close()
  expect(waits()).toEqual([])
})
