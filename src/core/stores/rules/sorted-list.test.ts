import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedList } from './sorted-list.ts'

test('a sorted list is in order, whatever is added and deleted', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(3_000)), { maxLength: 5_000 })
  fc.assert(
    fc.property(steps, fc.nat(3_000), (changes, bound) => {
      const list = new SortedList<number>((a, b) => a - b)
      const model = new Set<number>()
      for (const [adds, value] of changes) {
        if (adds && !model.has(value)) list.add(value)
        if (!adds) list.delete(value)
        if (adds) model.add(value)
        else model.delete(value)
      }
      const all = [...model].sort((a, b) => a - b)
      expect([...list.from()]).toEqual(all)
      expect([...list.from((value) => value < bound)]).toEqual(all.filter((each) => each >= bound))
      expect(list.isEmpty).toBe(all.length === 0)
    }),
    { numRuns: 50 },
  )
  const long = new SortedList<number>((a, b) => a - b)
  for (let n = 0; n < 5_000; n++) long.add((n * 7_919) % 5_000)
  expect([...long.from()]).toEqual(Array.from({ length: 5_000 }, (_, n) => n))
})
