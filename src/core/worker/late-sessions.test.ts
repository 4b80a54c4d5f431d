import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { LateSessions } from './late-sessions.ts'

const late = (session: number, beat: number) => ({ session, beat, ttlMs: 3_000 })

test('stores D2: a session is silent when it was late at one beat for two thirds of its life', async () => {
  const clock = new VirtualClock()
  const sessions = new LateSessions(clock)
  sessions.learn([late(1, 7)])
  expect([sessions.silent, sessions.dueInMs]).toEqual([[], 2_000])
  await clock.advance(1_999)
  sessions.learn([late(1, 7)])
  expect([sessions.silent, sessions.dueInMs]).toEqual([[], 1])
  await clock.advance(1)
  expect(sessions.silent).toEqual([{ session: 1, beat: 7 }])
})

test('a session that renews meanwhile is watched anew', async () => {
  const clock = new VirtualClock()
  const sessions = new LateSessions(clock)
  sessions.learn([late(1, 7), late(2, 1), late(3, 1)])
  await clock.advance(1_500)
  sessions.learn([late(1, 8), late(2, 1)])
  await clock.advance(500)
  expect(sessions.silent).toEqual([{ session: 2, beat: 1 }])
  sessions.learn([late(1, 8), late(3, 1)])
  expect(sessions.dueInMs).toBe(1_500)
  await clock.advance(1_500)
  expect(sessions.silent).toEqual([{ session: 1, beat: 8 }])
})

test('a clock that is set says nothing about anybody', async () => {
  const clock = new VirtualClock()
  const sessions = new LateSessions({
    now: () => 0,
    monotonic: () => clock.monotonic(),
    after: (ms, fire) => clock.after(ms, fire),
    breathe: () => clock.breathe(),
  })
  sessions.learn([late(1, 1)])
  await clock.advance(1_999)
  expect(sessions.silent).toEqual([])
})
