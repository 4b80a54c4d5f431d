// A story on virtual time: at every step either one of the waiting store calls goes on, or time does, as the seed says.
import { noFaults } from '../../src/testing/faulty-store.ts'
import { Ledger } from '../../src/testing/ledger.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { SharedStore, SharedWorld } from '../../src/testing/shared-store.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { Interleaving } from './interleaving.ts'
import { Story, type Told, type Workers } from './story.ts'

const stepsMax = 200_000

export async function tellVirtual(
  shared: (world: SharedWorld) => SharedStore,
  seed: number,
  workers: Workers,
): Promise<Told> {
  const clock = new VirtualClock()
  const random = new SeededRandom(seed).fork('order')
  const interleaving = new Interleaving(clock, random.fork('calls'))
  const store = shared({
    clock,
    ledger: new Ledger(clock),
    faults: noFaults,
    around: (process, call) => (process.name === 'observer' ? call() : interleaving.around(process, call)),
  })
  const open = async (...args: Parameters<SharedStore['open']>) => store.open(...args)
  const story = new Story({ clock, interleaving, open }, seed, workers)
  let told: Told | undefined
  let failure: unknown
  story.tell().then(
    (value) => (told = value),
    (error: unknown) => (failure = error ?? 'nothing'),
  )
  const eager = random.pick([0.5, 0.8, 0.95])
  await clock.advance(0)
  for (let step = 0; !told && !failure && step < stepsMax; step++) {
    const { deadline = Infinity } = interleaving
    const next = Math.min(clock.next() ?? Infinity, deadline)
    if (next === Infinity) break
    const call = deadline <= clock.now() || (deadline < Infinity && random.chance(eager))
    if (call) interleaving.release()
    await clock.advance(call ? 0 : Math.max(0, next - clock.now()))
  }
  story.stop()
  if (failure) throw failure
  return told ?? { violations: ['the story never ended'], lines: [], rest: 'unknown' }
}
