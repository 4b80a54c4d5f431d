import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

describe('a timer further away than Node can count', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([0, 1, 2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 400 * DAY_MS])('fires after %d ms and not before', (ms) => {
    const fire = vi.fn<() => void>()
    systemClock.after(ms, fire)
    if (ms > 0) vi.advanceTimersByTime(ms - 1)
    expect(fire).not.toHaveBeenCalled()
    vi.advanceTimersByTime(ms > 0 ? 1 : 0)
    expect(fire).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([0, 30, 60])('is cancelled after %d days', (days) => {
    const fire = vi.fn<() => void>()
    const cancelTimer = systemClock.after(70 * DAY_MS, fire)
    vi.advanceTimersByTime(days * DAY_MS)
    cancelTimer()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(100 * DAY_MS)
    expect(fire).not.toHaveBeenCalled()
  })
})
