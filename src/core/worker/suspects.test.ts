import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { limits } from '../base/limits.ts'
import type { Claimed, ClaimedRun } from '../stores/store.ts'
import { Suspects } from './suspects.ts'

/** An answer with so many runs that lost `deaths` holders. */
function answer(count: number, deaths: number, more: boolean): Claimed {
  const run = { deliveries: deaths + 1 } as ClaimedRun
  const runs = Array.from({ length: count }, () => run)
  return { now: 0, runs, tasks: [], news: [], ...(more && { suspects: true }) }
}

function world() {
  const clock = new VirtualClock()
  const load = { idle: true }
  return { clock, load, suspects: new Suspects(clock, () => load.idle) }
}

describe('runs whose last holder died', () => {
  test('an idle worker takes a first group, and nothing beside it for a moment', async () => {
    const { clock, load, suspects } = world()
    expect(suspects.take()).toBe(limits.suspectsTogether)
    expect(suspects.learn(answer(32, 1, true), 1)).toBe(true)
    load.idle = false
    expect([suspects.comeFirst, suspects.holdsBack, suspects.take()]).toEqual([true, true, 0])
    await clock.advance(limits.probationMs)
    expect([suspects.holdsBack, suspects.take()]).toEqual([false, limits.suspectsTogether * 2])
  })

  test('each group that does no harm lets the next be larger, although all are held', async () => {
    const { clock, load, suspects } = world()
    const sizes: number[] = []
    for (let n = 0; n < 5; n++) {
      sizes.push(suspects.take())
      suspects.learn(answer(sizes.at(-1) ?? 0, 1, true), 1)
      load.idle = false
      await clock.advance(limits.probationMs)
    }
    const most = limits.suspectsTogetherMax
    expect(sizes).toEqual([32, 64, most, most, most])
    // 1,000 runs are taken within a second.
    const groups = Math.ceil((1_000 - 32 - 64) / most) + 2
    expect(groups * limits.probationMs).toBeLessThanOrEqual(1_000)
    suspects.learn(answer(0, 0, false), 1)
    load.idle = true
    expect(suspects.take()).toBe(limits.suspectsTogether)
  })

  test('INV14: one that lost many holders stays alone until it has come to something', async () => {
    const { clock, load, suspects } = world()
    suspects.take()
    suspects.learn(answer(1, limits.soloDeaths, true), 1)
    load.idle = false
    await clock.advance(limits.graveProbationMs - 1)
    expect(suspects.holdsBack).toBe(true)
    load.idle = true
    expect(suspects.holdsBack).toBe(false)
    load.idle = false
    await clock.advance(1)
    expect(suspects.holdsBack).toBe(false)
  })

  test('a busy worker falls quiet, and if it does not become idle tries them all the same', async () => {
    const { clock, load, suspects } = world()
    load.idle = false
    expect(suspects.take()).toBe(0)
    suspects.learn(answer(0, 0, true), 0)
    expect([suspects.comeFirst, suspects.holdsBack, suspects.take()]).toEqual([true, true, 0])
    await clock.advance(limits.holdBackMsMax + 1)
    expect([suspects.holdsBack, suspects.take()]).toEqual([false, limits.suspectsTogether])
    suspects.learn(answer(32, 1, true), 1)
    expect(suspects.holdsBack).toBe(true)
    await clock.advance(limits.probationMs)
    expect(suspects.take()).toBe(limits.suspectsTogether * 2)
  })

  test('an idle worker does not ask at once again for what it could not have', async () => {
    const { clock, suspects } = world()
    suspects.learn(answer(0, 0, true), suspects.take())
    expect([suspects.comeFirst, suspects.mayBeTaken]).toEqual([true, false])
    await clock.advance(limits.probationMs)
    expect(suspects.mayBeTaken).toBe(true)
  })

  test('without any, nothing is held back', () => {
    const { load, suspects } = world()
    load.idle = false
    suspects.learn(answer(0, 0, false), 1)
    expect([suspects.comeFirst, suspects.holdsBack, suspects.take()]).toEqual([false, false, 0])
  })
})
