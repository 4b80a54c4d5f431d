// A crash before and after every single call to the store, one after the other: the same outcome every time.
import { describe, expect, test } from 'vitest'
import { type SharedWorld, sharedMemory, sharedObjects } from '../../src/testing/shared-store.ts'
import { type CrashPoint, type Deployment, tell } from './crash-points.ts'
import { generations, graphs, machines, rewinds, sagas, schedules } from './further-programs.ts'
import { orders } from './order-program.ts'
import { streams } from './stream-program.ts'

const memory = (delivery: 'atomic' | 'deferred') => (world: SharedWorld) => sharedMemory(world, delivery)

/** What has ended is packed away at once, or never: a run that was packed cannot be begun again. */
const objects = (archiveAt: number) => (world: SharedWorld) =>
  sharedObjects(world, {
    snapshotEvery: 16,
    archiveAt,
    graceMs: 400,
    snapshotBytes: 500,
    partBytes: 1_000,
  })

const program = orders
const deployments: readonly (readonly [string, Deployment])[] = [
  ['a client and two workers', { together: false, store: memory('atomic'), program }],
  ['a client and two workers, late delivery', { together: false, store: memory('deferred'), program }],
  ['a client that works', { together: true, store: memory('atomic'), program }],
  ['a client and two workers on objects', { together: false, store: objects(1), program }],
  ['a client that works on objects', { together: true, store: objects(1), program }],
  ['a client that works, late delivery', { together: true, store: memory('deferred'), program }],
]

const programs = { generations, rewinds, schedules, graphs, machines, sagas, streams }

const sides = ['before', 'after'] as const
/** How many calls after the first crash the second comes. */
const soonAfter = [1, 2, 3, 5, 8]

interface Plan {
  /** The second crashes to try after a first one. */
  readonly second: (first: CrashPoint) => readonly CrashPoint[]
}

const thorough: Plan = {
  second: ({ call }) => soonAfter.flatMap((gap) => sides.map((when) => ({ call: call + gap, when }))),
}

/** What the older program proves about any two crashes need not be proved for each of the others. */
const thin: Plan = {
  second: ({ call, when }) => {
    const gap = soonAfter[call % soonAfter.length] ?? 1
    return call % 2 === 0 ? [{ call: call + gap, when }] : []
  },
}

const single: Plan = { second: () => [] }

async function everyCall(deployment: Deployment, { second }: Plan): Promise<void> {
  const calm = await tell(deployment, [])
  expect(calm.violations).toEqual([])
  expect(calm.calls).toBeGreaterThan(15)
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
      for (const each of second(first)) await same([first, each])
    }
  }
  if (second !== single.second) expect(doubles).toBeGreaterThan(stories / 5)
  console.log(`${calm.calls} calls; ${stories} stories, ${doubles} of two crashes: one outcome`)
}

describe.each(deployments)('%s', (_, deployment) => {
  test(
    'a crash before and after every store call changes nothing',
    {
      timeout: 600_000,
    },
    () => everyCall(deployment, thorough),
  )
})

describe.each(Object.entries(programs))('%s', (_, program) => {
  const stores = {
    memory: memory('atomic'),
    'late delivery': memory('deferred'),
    objects: objects(1_000),
  }

  test.each(Object.entries(stores))(
    'a crash before and after every store call changes nothing, on %s',
    {
      timeout: 600_000,
    },
    (kind, store) =>
      everyCall({ together: kind === 'late delivery', store, program }, kind === 'objects' ? single : thin),
  )
})
