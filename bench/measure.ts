// Measures one adapter for one round: an idle worker, then the latency workloads and the pick-up with
// it, then the two backlogs, each with a worker of its own.
import type { Adapter, Client, Place } from './adapter.ts'
import { measureDrain } from './drain.ts'
import { Disqualification, requireExactlyOnce } from './executions.ts'
import type { Options } from './options.ts'
import { measureQuietly } from './quiet.ts'
import type { Cell, Outcome, Round } from './results.ts'
import { serverMemory } from './server-memory.ts'
import type { Servers } from './servers.ts'
import { summarize } from './statistics.ts'
import { now, sleep } from './time.ts'
import { WorkerProcess } from './worker-process.ts'
import { type LatencyWorkload, measureLatency, type Size, type Workload } from './workloads.ts'

const latencyWorkloads = ['W1', 'W2', 'W4'] as const
const settleMs = 1_500
const executeMs = 90_000
const pickUpGapMs = { min: 50, max: 450 }

export async function measureRound(adapter: Adapter, servers: Servers, options: Options): Promise<Round> {
  const wanted = (workload: Workload): boolean =>
    options.workloads.includes(workload) && adapter.workloads.includes(workload)
  const round: Round = {}
  let place = await adapter.setup(servers)
  try {
    if ([...latencyWorkloads, 'W6' as const].some(wanted)) {
      await measureWithIdleWorker(adapter, place, options, wanted, round)
    }
    for (const workload of (['W3', 'W5'] as const).filter(wanted)) {
      round[workload] = await measureCell(options, async () => {
        if (!adapter.keepsStore) place = await adapter.setup(servers)
        return await measureDrain(adapter, place, options.sizes[workload], options.analyze)
      })
    }
  } finally {
    await adapter.teardown?.(place)
  }
  return round
}

async function measureWithIdleWorker(
  adapter: Adapter,
  place: Place,
  options: Options,
  wanted: (workload: Workload) => boolean,
  round: Round,
): Promise<void> {
  const worker = await WorkerProcess.load(adapter, place)
  try {
    await worker.ask({ type: 'work' }, 'working')
    await adapter.announceWorker?.(place)
    await sleep(settleMs)
    round.idle = await measureMemory(worker, place)
    const client = await adapter.connect(place)
    for (const workload of latencyWorkloads.filter(wanted)) {
      const size = options.sizes[workload]
      round[workload] = await measureCell(options, () => measureExecutions(adapter, worker, client, workload, size))
    }
    if (wanted('W6')) {
      round.W6 = await measureCell(options, () => measurePickUp(worker, client, options.sizes.W6))
    }
    await client.close()
  } finally {
    await worker.stop()
  }
}

async function measureMemory(worker: WorkerProcess, place: Place): Promise<Cell> {
  const residentMegabytes = await worker.residentMegabytes()
  const figures = { residentMegabytes, ...serverMemory(place) }
  return { kind: 'measured', figures, capped: false, noisy: false, noise: undefined }
}

async function measureCell(options: Options, measure: () => Promise<Outcome>): Promise<Cell> {
  try {
    const { result, noise, noisy } = await measureQuietly(options.quiet, measure)
    return { kind: 'measured', ...result, noise, noisy }
  } catch (error) {
    if (error instanceof Disqualification) return { kind: 'disqualified', reason: error.message }
    console.error(error)
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}

async function measureExecutions(
  adapter: Adapter,
  worker: WorkerProcess,
  client: Client,
  workload: LatencyWorkload,
  size: Size,
): Promise<Outcome> {
  await worker.expect(size.warmUp + size.count, size.bodies)
  const { runs, capped, ...summary } = adapter.embedded
    ? (await worker.ask({ type: 'execute', workload, size }, 'executed', executeMs)).latency
    : await measureLatency(workload, size, executorOf(client))
  requireExactlyOnce(await worker.tally(runs))
  return { figures: { ...summary, perStep: summary.p50 / size.bodies }, capped }
}

function executorOf({ executor }: Client) {
  if (!executor) throw new Error('its client runs no workflows')
  return executor
}

/** From the call that starts a run here to the first line of its handler in the idle worker. */
async function measurePickUp(worker: WorkerProcess, client: Client, size: Size): Promise<Outcome> {
  await worker.expect(size.warmUp + size.count, size.bodies, true)
  const samples: number[] = []
  const deadline = now() + size.capMs
  let run = 0
  for (; samples.length < size.count && (now() < deadline || samples.length < 3); run++) {
    await sleep(pickUpGapMs.min + Math.random() * (pickUpGapMs.max - pickUpGapMs.min))
    const number = run
    const started = worker.next('started', undefined, (report) => report.run === number)
    const before = now()
    await client.startOne(run)
    const { at } = await started
    if (run >= size.warmUp) samples.push(at - before)
  }
  await untilFinished(client)
  requireExactlyOnce(await worker.tally(run))
  return { figures: { ...summarize(samples) }, capped: samples.length < size.count }
}

/** The last handler has started, but its body may still be on its way. */
async function untilFinished(client: Client): Promise<void> {
  for (const deadline = now() + 5_000; now() < deadline; await sleep(20)) {
    if ((await client.unfinished()) === 0) return
  }
}
