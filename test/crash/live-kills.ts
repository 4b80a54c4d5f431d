// Kills servers and workers while clients follow runs, then compares what each client got with the histories.
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, open } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { Fleet } from './fleet.ts'
import { RunReader, Servers, WindowReader } from './live-readers.ts'
import { tale } from './live-tale.ts'

export interface LiveKillOptions {
  readonly store: string
  readonly kills: number
  readonly seed: number
  readonly readers?: number
  /** The mean pause between two kills. */
  readonly pauseMs?: number
  readonly settleMsMax?: number
  readonly progress?: (text: string) => void
}

export interface LiveReport {
  readonly seed: number
  readonly serverKills: number
  readonly workerKills: number
  readonly runs: number
  readonly events: number
  readonly connections: number
  readonly refused: number
  readonly resumed: number
  readonly left: number
  readonly strikeSeconds: number
  readonly settleSeconds: number
  readonly violations: readonly string[]
  readonly complaints: readonly string[]
}

const defaults = { readers: 12, pauseMs: 600, settleMsMax: 60_000 } as const
const windowRuns = 50

export async function killLive(given: LiveKillOptions): Promise<LiveReport> {
  const options = { ...defaults, ...given }
  const folder = await mkdtemp(join(tmpdir(), 'pawl-live-'))
  const { store } = options
  const shared = { store, folder, leaseMs: 1_000, stepMsMax: 40 }
  const fleets = {
    workers: new Fleet({ ...shared, script: 'live-worker.ts' }),
    servers: new Fleet({ ...shared, script: 'live-server.ts' }),
  }
  const engine = await open(store)
  try {
    const ports = [await freePort(), await freePort()]
    for (const port of ports) fleets.servers.start(String(port))
    for (let n = 0; n < 2; n++) fleets.workers.start('default')
    const random = new SeededRandom(options.seed)
    const servers = new Servers(
      ports.map((port) => `http://127.0.0.1:${port}`),
      random.fork('readers'),
    )
    return await strike(engine, fleets, servers, { ...options, random })
  } finally {
    await Promise.all([fleets.servers.end(), fleets.workers.end()])
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Settings = Required<Omit<LiveKillOptions, 'progress'>> &
  Pick<LiveKillOptions, 'progress'> & { random: SeededRandom }
type Fleets = Readonly<Record<'workers' | 'servers', Fleet>>

async function strike(engine: Engine, fleets: Fleets, servers: Servers, options: Settings): Promise<LiveReport> {
  const { kills, readers, settleMsMax, random } = options
  const begun = performance.now()
  const state = { isCalm: false, isOver: false }
  const all: RunReader[] = []
  const window = new WindowReader()
  const windowPath = `/api/v1/events?workflow=tale&limit=${windowRuns}`
  const watching = window.follow(servers, windowPath, () => state.isOver)
  const reading = Array.from({ length: readers }, async () => {
    // A reader that is not done when time is over is found by `judge`.
    while (!state.isCalm || all.length < readers) {
      const { runId } = await engine.start(tale, random.below(3))
      const reader = new RunReader(runId)
      all.push(reader)
      await reader.follow(servers, () => state.isOver)
    }
  })
  const killed = { servers: 0, workers: 0 }
  const blows = random.fork('blows')
  while (killed.servers + killed.workers < kills) {
    await sleep(blows.below(2 * options.pauseMs))
    const kind = blows.chance(0.5) ? 'servers' : 'workers'
    for (const fleet of Object.values(fleets)) fleet.check()
    const { ready } = fleets[kind]
    if (ready.length === 0) continue
    await fleets[kind].kill(blows.pick(ready))
    killed[kind]++
    const done = killed.servers + killed.workers
    if (done % 20 === 0) options.progress?.(`${done} kills, ${all.length} runs`)
  }
  state.isCalm = true
  const calm = performance.now()
  await Promise.race([Promise.all(reading), sleep(settleMsMax, undefined, { ref: false })])
  const violations = [...servers.tried.wrong, ...(await judge(engine, all)), ...(await judgeWindow(engine, window))]
  state.isOver = true
  const ended = performance.now()
  await Promise.all([fleets.servers.end(), fleets.workers.end()])
  await Promise.all([...reading, watching])
  const { wrong: _, ...tried } = servers.tried
  return {
    ...{ seed: options.seed, serverKills: killed.servers, workerKills: killed.workers, runs: all.length },
    events: all.reduce((sum, { events }) => sum + events.length, 0),
    ...tried,
    ...{ strikeSeconds: (calm - begun) / 1_000, settleSeconds: (ended - calm) / 1_000, violations },
    complaints: [...fleets.servers.complaints, ...fleets.workers.complaints],
  }
}

async function judge(engine: Engine, readers: readonly RunReader[]): Promise<string[]> {
  const violations: string[] = []
  for (const { runId, events, isDone, ends } of readers) {
    const run = engine.get(runId)
    const { generation: newest, status } = await run.describe()
    const history: string[] = []
    for (let generation = 1; generation <= newest; generation++) {
      for await (const event of run.history({ generation })) {
        history.push(`${generation}.${event.seq} ${JSON.stringify(event)}`)
      }
    }
    const at = history.findIndex((event, index) => events[index] !== event)
    if (!isDone) violations.push(`the reader of ${runId} (${status}) hangs after ${events.length} events`)
    else if (at >= 0) violations.push(`run ${runId}: event ${at} is ${events[at]}, and not ${history[at]}`)
    else if (events.length !== history.length)
      violations.push(`run ${runId}: ${events.length - history.length} too many`)
    if (isDone && ends !== 1) violations.push(`the reader of ${runId} was told the end ${ends} times`)
  }
  return violations
}

/** Nothing changes any more, so the window becomes what a list shows. */
async function judgeWindow(engine: Engine, window: WindowReader): Promise<string[]> {
  const { items } = await engine.list({ workflow: tale }, { limit: windowRuns })
  const wanted = items.map(({ runId, status, generation }) => `${runId} ${status} ${generation}`).toSorted()
  for (let tries = 0; tries < 200; tries++) {
    const rows = [...window.rows].map(([runId, row]) => `${runId} ${row}`).toSorted()
    if (window.isCaughtUp && JSON.stringify(rows) === JSON.stringify(wanted)) return []
    await sleep(100)
  }
  return [`the window has ${JSON.stringify([...window.rows])}, and the list ${JSON.stringify(wanted)}`]
}

export function describeLive({ violations, complaints, ...numbers }: LiveReport): string {
  const lines = Object.entries(numbers).map(([name, value]) => `  ${name}: ${Math.round(value * 10) / 10}`)
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`  ${title} (${items.length}):`, ...items.slice(0, 20)]
  return [...lines, ...list('complaints', complaints), ...list('VIOLATIONS', violations)].join('\n')
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
