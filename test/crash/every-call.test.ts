// A crash before and after every single call to the store, one after the other: the same outcome every time.
import { describe, expect, test } from 'vitest'
import { type SharedWorld, sharedMemory, sharedObjects } from '../../src/testing/shared-store.ts'
import { type CrashPoint, type Deployment, tell } from './crash-points.ts'

const memory = (delivery: 'atomic' | 'deferred') => (world: SharedWorld) =>
  sharedMemory(world, delivery)

const objects = (world: SharedWorld) =>
  sharedObjects(world, {
    snapshotEvery: 16,
    archiveAt: 1,
    graceMs: 400,
    snapshotBytes: 500,
    partBytes: 1_000,
  })

const deployments: readonly (readonly [string, Deployment])[] = [
  ['a client and two workers', { together: false, store: memory('atomic') }],
  ['a client and two workers, late delivery', { together: false, store: memory('deferred') }],
  ['a client that works', { together: true, store: memory('atomic') }],
  ['a client and two workers on objects', { together: false, store: objects }],
  ['a client that works on objects', { together: true, store: objects }],
  ['a client that works, late delivery', { together: true, store: memory('deferred') }],
]

const sides = ['before', 'after'] as const
/** How many calls after the first crash the second comes. */
const soonAfter = [1, 2, 3, 5, 8]

describe.each(deployments)('%s', (_, deployment) => {
  test('a crash before and after every store call changes nothing', {
    timeout: 600_000,
  }, async () => {
    const calm = await tell(deployment, [])
    expect(calm.violations).toEqual([])
    expect(calm.calls).toBeGreaterThan(20)
    let stories = 0
    let doubles = 0
    const same = async (points: readonly CrashPoint[]): Promise<void> => {
      const story = await tell(deployment, points)
      stories++
      const text = points.map(({ call, when }) => `${when} call ${call}`).join(' and ')
      expect(story.violations, text).toEqual([])
      expect(story.outcome, text).toBe(calm.outcome)
      // The second crash finds nobody when the first had left nothing to be done but wait.
      expect(story.crashes, text).toBeGreaterThanOrEqual(1)
      if (story.crashes === 2) doubles++
    }
    for (let call = 0; call < calm.calls; call++) {
      for (const when of sides) {
        const first = { call, when }
        await same([first])
        for (const gap of soonAfter) {
          for (const again of sides) await same([first, { call: call + gap, when: again }])
        }
      }
    }
    expect(doubles).toBeGreaterThan(stories / 2)
    console.log(`${calm.calls} calls; ${stories} stories, ${doubles} of two crashes: one outcome`)
  })
})
