// A story on a real store and real time: store calls wait for each other in an order drawn from the seed.
import { sleep, systemClock } from '../../src/core/runtime/clock.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { wrapped } from '../../src/core/stores/wrapped.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { Interleaving } from './interleaving.ts'
import { Story, type Told, type Workers } from './story.ts'

/** `open` gives a connection of its own to the store of this story. */
export async function tellReal(open: () => Promise<Store>, seed: number, workers: Workers): Promise<Told> {
  const clock = systemClock
  const random = new SeededRandom(seed).fork('order')
  const interleaving = new Interleaving(clock, random.fork('calls'))
  let pumping = false
  const pump = async (): Promise<void> => {
    pumping = true
    for (; interleaving.size > 0; interleaving.release()) await sleep(clock, random.below(3))
    pumping = false
  }
  interleaving.onWait = () => {
    if (!pumping) void pump()
  }
  const stores: Store[] = []
  const story = new Story(
    {
      clock,
      interleaving,
      open: async (process) => {
        const store = await open()
        stores.push(store)
        if (process.name === 'observer') return process.guard(store)
        const around = interleaving.around.bind(interleaving)
        const ordered = wrapped(store, (_method, call) => (...args) => {
          return around(process, () => call(...args))
        })
        return process.guard(ordered)
      },
    },
    seed,
    workers,
  )
  try {
    return await story.tell()
  } finally {
    story.stop()
    await Promise.all(stores.map((store) => store.close()))
  }
}
