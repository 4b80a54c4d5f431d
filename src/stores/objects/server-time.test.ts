import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits } from '../../core/base/limits.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { ServerTime } from './server-time.ts'

/** The `Date` header of a server whose clock is at `instant`. */
function dateOf(instant: number): string {
  return new Date(instant).toUTCString()
}

/** One request: `there` ms to the server and `back` ms to return. The server's clock is ahead by `lead`. */
async function exchange(
  clock: VirtualClock,
  time: ServerTime,
  { lead, there, back }: { lead: number; there: number; back: number },
): Promise<void> {
  const sentAt = clock.monotonic()
  await clock.advance(there)
  const date = dateOf(clock.now() + lead)
  await clock.advance(back)
  time.heard(date, sentAt)
}

const leg = fc.integer({ min: 0, max: 100 })
const exchanges = fc.array(fc.record({ there: leg, back: leg, pause: fc.integer({ min: 0, max: 3_000 }) }), {
  minLength: 1,
  maxLength: 40,
})
const leads = fc.integer({ min: -10_000_000, max: 10_000_000 })

test('S3 store, P15: the server’s true time is within the uncertainty, whatever latency and phase', async () => {
  await fc.assert(
    fc.asyncProperty(leads, exchanges, async (lead, list) => {
      const clock = new VirtualClock()
      const time = new ServerTime(clock)
      for (const { there, back, pause } of list) {
        await exchange(clock, time, { lead, there, back })
        for (const wait of [0, pause]) {
          await clock.advance(wait)
          const error = Math.abs(time.now() - (clock.now() + lead))
          expect(error).toBeLessThanOrEqual(time.uncertaintyMs)
          // The worst precision of one response, and the drift over the pauses.
          expect(time.uncertaintyMs).toBeLessThan(700)
        }
      }
    }),
    { numRuns: 200 },
  )
})

test('S3 store, P15: the time goes back only when the server’s clock was set back, and never by little', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(leads, leg, leg), { maxLength: 20 }), async (list) => {
      const clock = new VirtualClock()
      const time = new ServerTime(clock)
      let before = time.now()
      for (const [lead, there, back] of list) {
        await exchange(clock, time, { lead, there, back })
        const now = time.now()
        if (now < before) expect(before - now).toBeGreaterThan(limits.clockAheadMsMax)
        before = now
      }
    }),
    { numRuns: 100 },
  )
})

test('many answers leave little room', async () => {
  const clock = new VirtualClock()
  const time = new ServerTime(clock)
  expect(time.uncertaintyMs).toBe(Number.POSITIVE_INFINITY)
  expect(time.now()).toBe(clock.now())
  await exchange(clock, time, { lead: 77_777, there: 5, back: 5 })
  expect(time.uncertaintyMs).toBeGreaterThan(500)
  for (let index = 0; index < 100; index++) {
    await exchange(clock, time, { lead: 77_777, there: 5, back: 5 })
    await clock.advance(61)
  }
  expect(time.uncertaintyMs).toBeLessThan(60)
  expect(Math.abs(time.now() - (clock.now() + 77_777))).toBeLessThan(60)
})

test('after the server’s clock has jumped, its new time is taken', async () => {
  const clock = new VirtualClock()
  const time = new ServerTime(clock)
  for (const lead of [0, 3_600_000]) {
    for (let index = 0; index < 50; index++) {
      await exchange(clock, time, { lead, there: 1, back: 1 })
      await clock.advance(130)
    }
    expect(Math.abs(time.now() - (clock.now() + lead))).toBeLessThan(100)
  }
  for (let index = 0; index < 50; index++) {
    await exchange(clock, time, { lead: 0, there: 1, back: 1 })
    await clock.advance(130)
  }
  expect(Math.abs(time.now() - clock.now())).toBeLessThan(100)
})

test('an answer without a date that can be read says nothing', () => {
  const clock = new VirtualClock()
  const time = new ServerTime(clock)
  for (const date of [null, undefined, '', 'yesterday']) time.heard(date, clock.monotonic())
  expect(time.uncertaintyMs).toBe(Number.POSITIVE_INFINITY)
})
