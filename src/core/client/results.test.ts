import { expect, test } from 'vitest'
import { systemClock } from '../runtime/clock.ts'
import { MemoryStore } from '../stores/memory/store.ts'
import type { Loaded, RunSnapshot, Store } from '../stores/store.ts'
import { asItIs, wrapped } from '../stores/wrapped.ts'
import { Results, RunMissing } from './results.ts'

/** How a run is found: in progress, ended, or not at all. */
type Found = 'in progress' | 'missing' | { readonly last: string }

/** A store whose answers are given by hand, in the order in which it was asked. */
class SlowStore {
  readonly asked: ((found: Found) => Promise<void>)[] = []
  readonly store: Store

  constructor() {
    const store = new MemoryStore({ clock: systemClock })
    const load = (): Promise<Loaded[]> =>
      new Promise((resolve) => {
        this.asked.push((found) => {
          const run = (found === 'in progress' ? {} : found) as RunSnapshot
          resolve([{ type: 'run', ...(found !== 'missing' && { run }) }])
          return systemClock.breathe()
        })
      })
    this.store = wrapped(store, asItIs, { load, wake: () => () => {} })
  }
}

function world(): { results: Results; asked: SlowStore['asked'] } {
  const slow = new SlowStore()
  return { results: new Results(slow.store, systemClock), asked: slow.asked }
}

test('a look tells only those who came before it began; who came later is told by the next', async () => {
  const { results, asked } = world()
  const early = results.wait('run')
  // It is tried again here, and a caller waits for the new end.
  const late = results.wait('run')
  let told = false
  void late.then(() => (told = true))
  await asked[0]?.({ last: 'old end' })
  expect(await early).toBe('old end')
  expect(told).toBe(false)
  await asked[1]?.('in progress')
  expect(told).toBe(false)
  results.ended('run', 'new end')
  expect(await late).toBe('new end')
  expect(results.awaited).toBe(false)
})

test('who came while a look found no run is told by the next look', async () => {
  const { results, asked } = world()
  const early = results.wait('run').catch((error: unknown) => error)
  const late = results.wait('run')
  await asked[0]?.('missing')
  expect(await early).toBeInstanceOf(RunMissing)
  expect(results.awaited).toBe(true)
  await asked[1]?.({ last: 'end' })
  expect(await late).toBe('end')
  expect(results.awaited).toBe(false)
})
