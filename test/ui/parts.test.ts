// The parts of the web UI that are arithmetic: the language of filters, the folded axis, durations.
import { describe, expect, test } from 'vitest'
import { readQuery } from '../../ui/src/data/filter.ts'
import { duration, visible } from '../../ui/src/data/format.ts'
import { scaleOf } from '../../ui/src/pages/run/scale.ts'
import { eventText, stepLabel } from '../../ui/src/text.ts'

const now = Date.UTC(2026, 0, 31)

describe('O4: the language of the filter bar', () => {
  test('each part becomes a field of the filter', () => {
    const { filter, problems } = readQuery(
      'status:failed,paused workflow:order attr.cents:>=100 attr.cents:<200 attr.region:eu started:<24h order-1',
      now,
    )
    expect(problems.size).toBe(0)
    expect(filter).toEqual({
      status: ['failed', 'paused'],
      workflow: ['order'],
      attributes: { cents: { gte: 100, lt: 200 }, region: 'eu' },
      startedAfter: new Date(now - 86_400_000),
      workflowIdPrefix: 'order-1',
    })
  })

  test('values keep their type: 5 is a number, "5" a text', () => {
    expect(readQuery('attr.n:5 attr.t:"5" attr.b:true attr.s:1..9', now).filter.attributes).toEqual({
      ...{ n: 5, t: '5', b: true },
      s: { gte: 1, lte: 9 },
    })
  })

  test('what cannot be answered is refused at its part, and nothing is answered half', () => {
    const { problems } = readQuery('-workflow:x colour:red status:gone started:soon', now)
    expect([...problems.keys()]).toEqual(['-workflow:x', 'colour:red', 'status:gone', 'started:soon'])
  })

  test('started:>7d is older than a week, started:<2026-01-01 is earlier', () => {
    expect(readQuery('started:>7d', now).filter).toEqual({ startedBefore: new Date(now - 7 * 86_400_000) })
    expect(readQuery('started:<2026-01-01', now).filter).toEqual({ startedBefore: new Date('2026-01-01') })
  })
})

describe('I13: the timeline', () => {
  const day = 86_400_000
  const work = [
    { from: 0, to: 100 },
    { from: day, to: day + 100 },
  ]
  const given = { from: 0, to: day + 100, work, points: [100, day] }

  test('a day of waiting between two steps is folded, and the steps stay readable', () => {
    const { x, folds } = scaleOf({ ...given, isFolding: true })
    expect(folds).toHaveLength(1)
    expect(x(100) - x(0)).toBeGreaterThan(10)
    expect(x(day + 100)).toBeCloseTo(100)
    const places = [0, 50, 100, day / 2, day, day + 50, day + 100].map(x)
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })

  test('without folds the axis is linear', () => {
    const { x, folds } = scaleOf({ ...given, isFolding: false })
    expect(folds).toEqual([])
    expect(x((day + 100) / 2)).toBeCloseTo(50)
  })

  test('time in which something ran is never folded', () => {
    const long = { from: 0, to: day }
    const { folds } = scaleOf({ ...given, work: [...work, long], isFolding: true })
    expect(folds).toEqual([])
  })
})

test('I13: steps and events are told by their names', () => {
  expect(['activity:charge#1', 'saga#1/[pay]', 'shield#1/undo:charge#1', 'step:a#2'].map(stepLabel)).toEqual([
    ...['charge', 'pay', 'undo charge', 'a #2'],
  ])
  const event = { type: 'StepCompleted', seq: 3, at: new Date(0), step: 'activity:charge#1', attempt: 2 } as const
  expect(eventText({ ...event, result: 1 })).toBe('charge is done, at attempt 2')
})

test('I13: durations are those of the command line, and hidden characters are shown', () => {
  expect([38, 2_100, 20_000, 476_000, 10_020_000, 273_600_000].map(duration)).toEqual([
    ...['38ms', '2.1s', '20s', '7m 56s', '2h 47m', '3d 4h'],
  ])
  expect(visible('a\u202eb\u0000')).toBe('a␦b␀')
})
