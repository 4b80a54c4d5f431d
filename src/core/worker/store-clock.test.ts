import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { StoreClock } from './store-clock.ts'

/** A store whose clock is `ahead` of this process's, asked over a line that takes some time each way. */
function world(ahead: number) {
  const clock = new VirtualClock()
  const store = { ahead }
  let jumps = 0
  const storeClock = new StoreClock(clock, () => void jumps++)
  const ask = async (there = 1, back = 1): Promise<boolean> => {
    const sent = clock.monotonic()
    await clock.advance(there)
    const now = clock.now() + store.ahead
    await clock.advance(back)
    const before = jumps
    storeClock.heard(now, sent)
    return jumps > before
  }
  const real = (): number => clock.now() + store.ahead
  return { clock, store, storeClock, ask, real }
}

describe('the time of the store, as a worker knows it', () => {
  test('is never ahead, and as far behind as an answer takes to come', async () => {
    const { storeClock, ask, real, clock } = world(-7_000)
    await ask(3, 5)
    expect(real() - storeClock.now()).toBe(5)
    await clock.advance(10_000)
    expect(real() - storeClock.now()).toBe(5)
  })

  test('faults 2.3: an answer that is read late takes nothing back', async () => {
    const { storeClock, ask, real } = world(0)
    await ask(1, 1)
    await ask(1, 600)
    expect(real() - storeClock.now()).toBe(1)
  })

  test.each([-3_600_000, -10_000, -3_000, -60, 60, 10_000, 3_600_000])(
    'stores D2: follows a clock that was set by %i ms, and says so',
    async (jump) => {
      const { store, ask, storeClock, real, clock } = world(1_000)
      await ask()
      await clock.advance(60_000)
      expect(await ask()).toBe(false)
      store.ahead += jump
      expect(await ask()).toBe(true)
      expect(Math.abs(real() - storeClock.now())).toBeLessThanOrEqual(2)
    },
  )

  test('a clock that is a little fast or slow is followed, and has not jumped', async () => {
    for (const drift of [-1, 1]) {
      const { storeClock, store, ask, real, clock } = world(0)
      await ask()
      for (let n = 0; n < 200; n++) {
        await clock.advance(998)
        store.ahead += drift
        expect(await ask()).toBe(false)
      }
      expect(Math.abs(real() - storeClock.now())).toBeLessThanOrEqual(4)
    }
  })

  test('answers that take long do not look like jumps', async () => {
    const { ask } = world(0)
    await ask()
    for (const [there, back] of [
      [5_000, 1],
      [1, 5_000],
      [3_000, 3_000],
    ]) {
      expect(await ask(there, back)).toBe(false)
    }
  })
})
