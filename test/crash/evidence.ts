// Reads from a store what a crash test left in it, through the seam and nothing else.

import { decode } from '../../src/core/base/value.ts'
import { endingOf } from '../../src/core/client/run-record.ts'
import { decodeTurn } from '../../src/core/kernel/codec.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import type { LoadAsk, RunSnapshot, Store, StoredTurn } from '../../src/core/stores/store.ts'
import { openStore } from '../../src/stores/open.ts'
import { type CheckedRun, eventsOf } from './check.ts'

const together = 100
const turnsMax = 500

/** The runs of these ids and their children, with their whole histories. */
export async function readRuns(url: string, runIds: Iterable<string>): Promise<Map<string, CheckedRun>> {
  const store = await openStore(url, systemClock)
  try {
    const found = new Map<string, CheckedRun>()
    for (let wanted = [...runIds]; wanted.length > 0; ) {
      const now = wanted.splice(0, together)
      for (const run of await readSome(store, now)) {
        found.set(run.runId, run)
        for (const event of eventsOf(run)) {
          if (event.type === 'ChildStarted' && !found.has(event.child)) wanted.push(event.child)
        }
      }
    }
    return found
  } finally {
    await store.close()
  }
}

async function readSome(store: Store, runIds: readonly string[]): Promise<CheckedRun[]> {
  const asks = runIds.flatMap((runId): LoadAsk[] => [
    { type: 'run', runId },
    { type: 'history', runId, after: 0, turns: turnsMax },
  ])
  const loaded = await store.load(asks)
  return runIds.flatMap((_, index) => {
    const run = loaded[index * 2]
    const history = loaded[index * 2 + 1]
    if (run?.type !== 'run' || !run.run || history?.type !== 'history') return []
    return [checkedRun(run.run, history.turns)]
  })
}

function checkedRun(run: RunSnapshot, turns: readonly StoredTurn[]): CheckedRun {
  const ending = run.last === undefined ? undefined : endingOf(run.last)
  return {
    runId: run.head.runId,
    name: run.head.name,
    status: run.status,
    ...(ending?.type === 'RunCompleted' && { output: decode(ending.value) }),
    turns: turns.map(({ body, ...turn }) => ({
      ...turn,
      events: body === '' ? [] : decodeTurn(body).events,
    })),
  }
}
