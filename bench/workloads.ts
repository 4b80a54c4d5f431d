// What is measured, how much of it, and the three latency workloads. Those run in the measuring
// process or, for an embedded adapter, in the worker's.
import type { Executor } from './adapter.ts'
import { type Summary, summarize } from './statistics.ts'
import { now } from './time.ts'

export const workloads = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6'] as const
export type Workload = (typeof workloads)[number]
export type LatencyWorkload = 'W1' | 'W2' | 'W4'
export type DrainWorkload = 'W3' | 'W5'

/** `count` runs of `bodies` step bodies each, cut short after `capMs`. */
export interface Size {
  count: number
  bodies: number
  capMs: number
  warmUp: number
}

export type Sizes = Record<Workload, Size>

export const fullSizes: Sizes = {
  W1: { count: 200, bodies: 1, capMs: 10_000, warmUp: 20 },
  W2: { count: 50, bodies: 10, capMs: 10_000, warmUp: 5 },
  W3: { count: 2_000, bodies: 3, capMs: 45_000, warmUp: 0 },
  W4: { count: 10, bodies: 200, capMs: 10_000, warmUp: 2 },
  W5: { count: 20_000, bodies: 1, capMs: 45_000, warmUp: 0 },
  W6: { count: 30, bodies: 1, capMs: 12_000, warmUp: 3 },
}

/** Enough to see that every engine works; the numbers mean nothing. */
export const smokeSizes: Sizes = {
  W1: { count: 5, bodies: 1, capMs: 8_000, warmUp: 1 },
  W2: { count: 3, bodies: 10, capMs: 8_000, warmUp: 1 },
  W3: { count: 60, bodies: 3, capMs: 20_000, warmUp: 0 },
  W4: { count: 1, bodies: 200, capMs: 8_000, warmUp: 1 },
  W5: { count: 300, bodies: 1, capMs: 20_000, warmUp: 0 },
  W6: { count: 3, bodies: 1, capMs: 8_000, warmUp: 1 },
}

export interface Latency extends Summary {
  /** The warm-up counts: its bodies ran too, and the execution count has to match. */
  runs: number
  capped: boolean
}

const warmUpCapMs = 3_000
const samplesMin = 3

export function measureLatency(workload: LatencyWorkload, size: Size, executor: Executor): Promise<Latency> {
  const execute = (run: number): Promise<number> =>
    workload === 'W4' ? executor.fanout({ run, width: size.bodies }) : executor.chain({ run, steps: size.bodies })
  return sequential(size, async (run) => {
    const answer = await execute(run)
    if (answer !== size.bodies) throw new Error(`answered ${answer} instead of ${size.bodies}`)
  })
}

/** One after another, until there are `count` samples or `capMs` have passed. */
async function sequential(size: Size, use: (run: number) => Promise<void>): Promise<Latency> {
  const warmUpStart = now()
  let run = 0
  while (run < size.warmUp && now() - warmUpStart < warmUpCapMs) await use(run++)

  const samples: number[] = []
  const start = now()
  const enough = Math.min(samplesMin, size.count)
  while (samples.length < size.count && (now() - start < size.capMs || samples.length < enough)) {
    const before = now()
    await use(run++)
    samples.push(now() - before)
  }
  return { ...summarize(samples), runs: run, capped: samples.length < size.count }
}
