import { describe, expect, test } from 'vitest'
import type { Instant } from '../base/time.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { type Head, RunState } from '../kernel/run.ts'
import type { TurnCommit } from '../stores/store.ts'
import type { WorkerContext } from './context.ts'
import { HOLD, NOTHING, TurnWriter } from './turn-writer.ts'

const HOUR = 3_600_000

/** A writer at this time, of a run whose last event has that time, and the stamps of what it writes. */
function world(now: Instant, recordedAt: Instant) {
  const stamps: Instant[] = []
  const store = {
    commit: async ([{ at }]: readonly [TurnCommit]) => {
      stamps.push(at)
      return [{ outcome: 'applied' }]
    },
  }
  const context = {
    settings: { build: 'b', pin: false },
    registry: { workflow: () => undefined },
    storeClock: { now: () => now },
    clock: { monotonic: () => 0 },
    random: { integer: () => 1 },
    line: { send: (call: (to: typeof store) => unknown) => call(store) },
  } as unknown as WorkerContext
  const head = { runId: 'r', generation: 1 } as Head
  const state = new RunState()
  state.apply({ type: 'SignalReceived', id: 's', name: 's', payload: { json: 1 }, at: recordedAt })
  const lease = { session: 1, epoch: 1, nonce: 1 }
  const run = { head, state, lease, isAbandoned: false }
  const writer = new TurnWriter(context, run, { seq: 3, bytes: 0, turnId: 0 })
  const write = (at: Instant) => {
    const event: HistoryEvent = { type: 'TimerFired', key: 't', at, seq: 4 }
    return writer.write([event], { ...NOTHING, next: HOLD })
  }
  return { stamps, write }
}

describe('the stamp of a turn', () => {
  test('faults 2.1: after the clock was set back, what is as late as the run already is counts as now', async () => {
    const { stamps, write } = world(1_000, HOUR)
    await write(HOUR)
    await write(HOUR)
    expect(stamps).toEqual([1_000, 1_000])
  })

  test('stores D2: what moves the time of the run is stamped with that, right or wrong', async () => {
    const { stamps, write } = world(1_000, 500)
    await write(1_000)
    await write(HOUR)
    // By now that is the run's past.
    await write(HOUR)
    expect(stamps).toEqual([1_000, HOUR, 1_000])
  })
})
