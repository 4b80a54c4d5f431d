// The backlog workloads: start everything, then let one worker process drain it. The rate runs from
// the first handler's start to the moment the store itself says that nothing is unfinished.
import type { Adapter, Client, Place } from './adapter.ts'
import { analyze } from './database.ts'
import { requireExactlyOnce } from './executions.ts'
import type { Outcome } from './results.ts'
import { serverMemory } from './server-memory.ts'
import { now, sleep } from './time.ts'
import { WorkerProcess } from './worker-process.ts'
import type { Size } from './workloads.ts'

export async function measureDrain(
  adapter: Adapter,
  place: Place,
  size: Size,
  analyzeFirst: boolean,
): Promise<Outcome> {
  const client = await adapter.connect(place)
  const worker = await WorkerProcess.load(adapter, place)
  try {
    await worker.expect(size.count, size.bodies)
    const firstStart = worker.next('firstStart', size.capMs * 2)
    const allRan = worker.next('allRan', size.capMs * 2)
    if (adapter.push) await startWorking(adapter, worker, place)

    const startedAt = now()
    await client.startMany(size.count, size.bodies)
    const startMs = now() - startedAt

    if (analyzeFirst && place.url.startsWith('postgres:')) await analyze(place.url)
    const drainFrom = now()
    if (!adapter.push) await startWorking(adapter, worker, place)
    const drained = await untilDrained(client, allRan, drainFrom, size.capMs)
    const finished = size.count - drained.unfinished

    requireExactlyOnce(await worker.tally(finished))
    const drainMs = drained.endedAt - (await firstStart).at
    const drainPerSecond = finished / (drainMs / 1_000)
    const figures = {
      finished,
      startPerSecond: size.count / (startMs / 1_000),
      drainPerSecond,
      stepsPerSecond: drainPerSecond * size.bodies,
      drainMs,
      tailMs: drained.tailMs,
      residentMegabytes: await worker.residentMegabytes(),
      ...serverMemory(place),
    }
    return { figures, capped: drained.unfinished > 0 }
  } finally {
    await worker.stop()
    await client.close()
  }
}

async function startWorking(adapter: Adapter, worker: WorkerProcess, place: Place): Promise<void> {
  await worker.ask({ type: 'work' }, 'working')
  await adapter.announceWorker?.(place)
}

/**
 * The bodies' count only says when to begin asking; what the store calls finished is what counts.
 * Questions are spaced to twenty times their own cost, but to at most 3 % of the time gone by: they
 * must neither load an engine that still works nor blur the end.
 */
async function untilDrained(client: Client, allRan: Promise<unknown>, drainFrom: number, capMs: number) {
  const deadline = drainFrom + capMs
  const inTime = await Promise.race([allRan.then(() => true), sleep(capMs).then(() => false)])
  const tailFrom = now()
  for (;;) {
    const before = now()
    const unfinished = await client.unfinished()
    const endedAt = now()
    if (unfinished === 0 || !inTime || endedAt > deadline) {
      return { unfinished, endedAt, tailMs: endedAt - tailFrom }
    }
    await sleep(Math.max(10, Math.min(20 * (endedAt - before), (endedAt - drainFrom) * 0.03)))
  }
}
