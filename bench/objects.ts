// What workflows on object storage cost: time, requests and dollars. Client and worker are this process; the server is
// the SIMULATOR in another one, or the bucket that --url names.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { open, workflow } from 'pawl'
import type { ChainInput } from './adapter.ts'
import { Executions, requireExactlyOnce } from './executions.ts'
import { namedPlace, type ObjectPlace, type Requests, startSimulated, traffic } from './object-place.ts'
import {
  type Idle,
  type Latency,
  type Load,
  type ObjectFigures,
  type RunFigures,
  renderObjects,
} from './object-report.ts'
import { hastyRules, measureQuietly, patientRules } from './quiet.ts'
import { median } from './statistics.ts'
import { now, range, sleep } from './time.ts'

const usage = `node objects.ts [options]
  --url <s3://bucket/prefix?…>  this store instead of the simulator; objects are left behind in new prefixes
  --smoke                       tiny sizes: does everything work?
  --hasty                       do not wait for quiet nor measure again; noisy figures are still marked
  --out <file>                  where the figures go (results/objects-<time>.json)`

interface Sizes {
  oneStepRuns: number
  tenStepRuns: number
  runsAlone: number
  offered: readonly { stepsPerSecond: number; seconds: number }[]
  saturatedRuns: number
  idleSeconds: number
}

const fullSizes: Sizes = {
  oneStepRuns: 200,
  tenStepRuns: 50,
  runsAlone: 11,
  offered: [
    { stepsPerSecond: 1, seconds: 30 },
    { stepsPerSecond: 100, seconds: 20 },
    { stepsPerSecond: 1_000, seconds: 20 },
  ],
  saturatedRuns: 2_000,
  idleSeconds: 60,
}

const smokeSizes: Sizes = {
  oneStepRuns: 5,
  tenStepRuns: 3,
  runsAlone: 1,
  offered: [{ stepsPerSecond: 100, seconds: 2 }],
  saturatedRuns: 50,
  idleSeconds: 5,
}

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    hasty: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const sizes = options.smoke ? smokeSizes : fullSizes
const timedRules = options.smoke || options.hasty ? hastyRules : patientRules
/** Counts change little with the load of the machine, so they are not taken again. */
const countedRules = { ...timedRules, retries: 0 }
const stepsPerRun = 10
/** Until a new worker asks as rarely as it ever will. */
const calmMs = options.smoke ? 100 : 6_000
/** Until what is written for people, behind the result, is written. */
const projectionMs = 1_000

async function main(): Promise<void> {
  if (options.help) return console.log(usage)
  const startedAt = new Date().toISOString()
  const name = `objects-${startedAt.replaceAll(/[:.]/g, '-')}.json`
  const outFile = options.out ?? join(import.meta.dirname, 'results', name)
  traffic.watch()
  const place = options.url === undefined ? await startSimulated() : namedPlace(options.url)
  console.error(`on: ${place.label}`)
  try {
    const figures = await measureAll(place)
    await place.check()
    mkdirSync(dirname(outFile), { recursive: true })
    const { label, simulated } = place
    const results = { startedAt, label, simulated, machine: describeMachine(), sizes, figures }
    writeFileSync(outFile, `${JSON.stringify(results, null, 2)}\n`)
    console.log(renderObjects(place.label, figures))
    console.error(`\nfigures: ${outFile}`)
  } finally {
    await place.stop()
  }
}

async function measureAll(place: ObjectPlace): Promise<ObjectFigures> {
  const latency = await phase('latency', () => measureLatency(place))
  const alone = await phase('runs alone', async () => [
    await measureAlone(place, 'one one-step run, nothing else', 1),
    await measureAlone(place, 'one ten-step run, nothing else', stepsPerRun),
  ])
  const offered: Load[] = []
  for (const { stepsPerSecond, seconds } of sizes.offered) {
    const name = `${stepsPerSecond.toLocaleString('en')} step${stepsPerSecond === 1 ? '' : 's'}/s offered`
    offered.push(await phase(name, () => measureOffered(place, name, stepsPerSecond, seconds)))
  }
  const saturated = await phase('saturated', () => measureSaturated(place))
  const idle = await phase('idle', () => measureIdle(place))
  return { latency, alone, offered, saturated, idle }
}

async function phase<Result>(name: string, measure: () => Promise<Result>): Promise<Result> {
  console.error(name)
  return await measure()
}

async function measureLatency(place: ObjectPlace): Promise<Latency> {
  const { result, noisy, noise } = await measureQuietly(timedRules, async () => {
    const one = await measureInTurn(place, sizes.oneStepRuns, 1)
    const ten = await measureInTurn(place, sizes.tenStepRuns, stepsPerRun)
    const further = stepsPerRun - 1
    const ms = (ten.run.ms - one.run.ms) / further
    const logWrites = (ten.run.logWrites - one.run.logWrites) / further
    return {
      oneStep: one.run,
      tenSteps: ten.run,
      furtherStep: { ms, logWrites },
      roundTripMs: one.putMs,
    }
  })
  return { ...result, noisy, noise }
}

/** One run at a time, on a worker that is warm. */
function measureInTurn(place: ObjectPlace, runs: number, steps: number): Promise<{ run: RunFigures; putMs: number }> {
  const warmUp = Math.ceil(runs / 4)
  return withWorker(place, 'latency', warmUp + runs, steps, async (execute) => {
    const samples: RunFigures[] = []
    for (let run = 0; run < warmUp + runs; run++) {
      if (run === warmUp) traffic.takePutMs()
      const before = traffic.logWrites
      const ms = await execute(run)
      samples.push({ ms, logWrites: traffic.logWrites - before })
    }
    const warm = samples.slice(warmUp)
    const run: RunFigures = {
      ms: median(warm.map(({ ms }) => ms)),
      logWrites: median(warm.map(({ logWrites }) => logWrites)),
    }
    return { run, putMs: median(traffic.takePutMs()) }
  })
}

/** The worker's own polls and renewals meet less than half of these short windows, and so do not count in the median. */
function measureAlone(place: ObjectPlace, name: string, steps: number): Promise<Load> {
  return withWorker(place, 'alone', sizes.runsAlone, steps, async (execute) => {
    const spent: Requests[] = []
    const samples: number[] = []
    for (let run = 0; run < sizes.runsAlone; run++) {
      // Not a multiple of any period of the worker's, so that the windows do not keep meeting the same one.
      await sleep(projectionMs + run * 137)
      const before = traffic.requests
      samples.push(await execute(run))
      await sleep(projectionMs / 4)
      spent.push(traffic.since(before))
    }
    const requests: Requests = {
      put: median(spent.map(({ put }) => put)),
      get: median(spent.map(({ get }) => get)),
      list: median(spent.map(({ list }) => list)),
      delete: median(spent.map((each) => each.delete)),
    }
    return { name, steps, requests, runMs: median(samples), noisy: false }
  })
}

/** Runs are started at their times, whether or not earlier ones are done. All requests in the window count. */
async function measureOffered(
  place: ObjectPlace,
  name: string,
  stepsPerSecond: number,
  seconds: number,
): Promise<Load> {
  const runs = Math.ceil((stepsPerSecond * seconds) / stepsPerRun)
  const { result, noisy, noise } = await measureQuietly(countedRules, () =>
    withWorker(place, 'offered', runs, stepsPerRun, async (execute, bodiesRun) => {
      const before = traffic.requests
      const begun = now()
      const done: Promise<number>[] = []
      for (let run = 0; run < runs; run++) {
        const dueAt = begun + (run * stepsPerRun * 1_000) / stepsPerSecond
        if (dueAt > now()) await sleep(dueAt - now())
        done.push(execute(run))
      }
      await sleep(Math.max(0, begun + seconds * 1_000 - now()))
      const requests = traffic.since(before)
      const steps = bodiesRun()
      const rate = { steps, stepsPerSecond: perSecond(steps, begun) }
      return { name, ...rate, requests, runMs: median(await Promise.all(done)) }
    }),
  )
  return { ...result, noisy, noise }
}

async function measureSaturated(place: ObjectPlace): Promise<Load> {
  const runs = sizes.saturatedRuns
  const { result, noisy, noise } = await measureQuietly(timedRules, () =>
    withWorker(place, 'saturated', runs, stepsPerRun, async (execute) => {
      const before = traffic.requests
      const begun = now()
      const samples = await Promise.all(range(0, runs, execute))
      const steps = runs * stepsPerRun
      const rate = { steps, stepsPerSecond: perSecond(steps, begun) }
      await sleep(projectionMs)
      const requests = traffic.since(before)
      const name = `${runs.toLocaleString('en')} ten-step runs at once`
      return { name, ...rate, requests, runMs: median(samples) }
    }),
  )
  return { ...result, noisy, noise }
}

/** A worker that has worked, and has nothing to do now. */
function measureIdle(place: ObjectPlace): Promise<Idle> {
  return withWorker(place, 'idle', 1, stepsPerRun, async (execute) => {
    await execute(0)
    await sleep(calmMs)
    const before = traffic.requests
    const begun = now()
    await sleep(sizes.idleSeconds * 1_000)
    return { minutes: (now() - begun) / 60_000, requests: traffic.since(before) }
  })
}

/** A worker on a store of its own. `execute` gives the milliseconds from a run's start to its result. */
async function withWorker<Result>(
  place: ObjectPlace,
  name: string,
  runs: number,
  steps: number,
  measure: (execute: (run: number) => Promise<number>, bodiesRun: () => number) => Promise<Result>,
): Promise<Result> {
  const executions = new Executions(runs, steps)
  let bodies = 0
  const chain = workflow('chain', async (ctx, input: ChainInput) => {
    for (let body = 0; body < input.steps; body++) {
      await ctx.run(`step${body}`, () => {
        bodies++
        executions.add(input.run, body)
        return body
      })
    }
    return input.steps
  })
  const { credentials } = place
  const engine = await open(place.fresh(name), {
    workflows: [chain],
    ...(credentials && { credentials }),
  })
  try {
    await engine.work().ready
    await sleep(calmMs)
    const execute = async (run: number): Promise<number> => {
      const begun = now()
      const done = await engine.execute(chain, { run, steps })
      if (done !== steps) throw new Error(`a run answered ${done} instead of ${steps}`)
      return now() - begun
    }
    const result = await measure(execute, () => bodies)
    requireExactlyOnce(executions.tally(runs))
    return result
  } finally {
    await engine.close()
  }
}

const perSecond = (count: number, begun: number): number => count / ((now() - begun) / 1_000)

const describeMachine = () => ({
  node: process.version,
  processors: cpus().map(({ model }) => model),
  memoryGigabytes: Math.round(totalmem() / 2 ** 30),
  kernel: release(),
})

await main()
