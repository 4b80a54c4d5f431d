// Kills writers, readers and servers of streams, and stops writers until they have lost their leases. Then compares
// what every reader kept with the streams, and these with what was acknowledged.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, open, type StreamItem } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { Fleet } from './fleet.ts'
import { freePort } from './live-kills.ts'
import { ROUNDS, recital, WORDS, type Word, words } from './stream-tale.ts'

export interface StreamKillOptions {
  readonly store: string
  readonly kills: number
  readonly seed: number
  /** The mean pause between two kills. */
  readonly pauseMs?: number
  readonly settleMsMax?: number
  readonly progress?: (text: string) => void
}

export interface StreamKillReport {
  readonly kills: Readonly<Record<string, number>>
  readonly runs: number
  readonly items: number
  readonly voided: number
  readonly acknowledged: number
  readonly seconds: number
  readonly violations: readonly string[]
  readonly complaints: readonly string[]
}

const LEASE_MS = 1_000
const RUNS_AT_ONCE = 4

export async function killStreams(given: StreamKillOptions): Promise<StreamKillReport> {
  const options = { pauseMs: 400, settleMsMax: 90_000, ...given }
  const { store } = options
  const folder = await mkdtemp(join(tmpdir(), 'pawl-streams-'))
  const shared = { store, folder, leaseMs: LEASE_MS, stepMsMax: 40 }
  const port = await freePort()
  const fleets = {
    writers: new Fleet({ ...shared, script: 'stream-worker.ts' }),
    readers: new Fleet({ ...shared, store: `http://127.0.0.1:${port}`, script: 'stream-reader.ts' }),
    servers: new Fleet({ ...shared, script: 'live-server.ts' }),
  }
  const engine = await open(store)
  try {
    fleets.servers.start(String(port))
    for (const number of ['1', '2']) {
      fleets.writers.start('default')
      fleets.readers.start(number)
    }
    return await strike(engine, fleets, folder, options)
  } finally {
    await Promise.all(Object.values(fleets).map((fleet) => fleet.end()))
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Fleets = Readonly<Record<'writers' | 'readers' | 'servers', Fleet>>
type Settings = Required<Omit<StreamKillOptions, 'progress'>> & Pick<StreamKillOptions, 'progress'>

async function strike(engine: Engine, fleets: Fleets, folder: string, options: Settings): Promise<StreamKillReport> {
  const { kills: wanted, pauseMs, settleMsMax, progress } = options
  const begun = performance.now()
  const blows = new SeededRandom(options.seed).fork('blows')
  const kills = { writers: 0, readers: 0, servers: 0, frozen: 0 }
  const runIds: string[] = []
  const state = { isCalm: false }
  const starting = Array.from({ length: RUNS_AT_ONCE }, async () => {
    while (!state.isCalm) {
      const run = await engine.start(recital, 1)
      runIds.push(run.runId)
      appendFileSync(join(folder, 'runs'), `${run.runId}\n`)
      await run.result()
    }
  })
  for (let done = 0; done < wanted; done++) {
    await sleep(blows.below(2 * pauseMs))
    for (const fleet of Object.values(fleets)) fleet.check()
    const kind = blows.pick(['writers', 'writers', 'readers', 'servers'] as const)
    const { ready } = fleets[kind]
    if (ready.length === 0) continue
    const victim = blows.pick(ready)
    if (kind === 'writers' && blows.chance(0.3)) {
      kills.frozen++
      await fleets.writers.freeze(victim, LEASE_MS * 2)
    } else {
      kills[kind]++
      await fleets[kind].kill(victim)
    }
    if (done % 20 === 0) progress?.(`${done} of ${wanted}, ${runIds.length} runs`)
  }
  state.isCalm = true
  const late = sleep(settleMsMax, 'late' as const, { ref: false })
  const settled = await Promise.race([Promise.all(starting).then(() => readToTheEnd(folder, runIds)), late])
  const found = await judge(engine, folder, runIds)
  const hangs = settled === 'late' ? ['not every run and reader came to an end in time'] : []
  return {
    ...{ kills, runs: runIds.length, ...found, violations: [...hangs, ...found.violations] },
    seconds: (performance.now() - begun) / 1_000,
    complaints: Object.values(fleets).flatMap((fleet) => fleet.complaints),
  }
}

const READERS = ['1', '2']

async function readToTheEnd(folder: string, runIds: readonly string[]): Promise<void> {
  const isDone = (reader: string, runId: string): boolean => keptBy(folder, reader, runId).at(-1) === 'end'
  while (!runIds.every((runId) => READERS.every((reader) => isDone(reader, runId)))) await sleep(100)
}

function keptBy(folder: string, reader: string, runId: string): string[] {
  return linesOf(join(folder, `reader-${reader}-${runId}`))
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}

type Found = Pick<StreamKillReport, 'items' | 'voided' | 'acknowledged' | 'violations'>

async function judge(engine: Engine, folder: string, runIds: readonly string[]): Promise<Found> {
  const violations: string[] = []
  const acknowledged = linesOf(join(folder, 'acknowledged'))
  const there = new Set<string>()
  let [items, voided] = [0, 0]
  for (const runId of runIds) {
    const run = engine.get(runId)
    const all: StreamItem<Word>[] = []
    for await (const item of run.stream(words)) all.push(item)
    for (const { chunk } of all) there.add(`${runId} ${chunk.execution} ${chunk.n}`)
    const valid = await run.streamed(words)
    items += all.length
    voided += all.length - valid.length
    const lines = all.map(({ offset, chunk, part }) => JSON.stringify({ offset, part: part.number, chunk }))
    for (const reader of READERS) {
      const kept = keptBy(folder, reader, runId)
      const at = [...lines, 'end'].findIndex((line, index) => kept[index] !== line)
      if (at >= 0) violations.push(`reader ${reader} of ${runId}: ${at} is ${kept[at]}, and not ${lines[at] ?? 'end'}`)
      if (kept.length > lines.length + 1) violations.push(`reader ${reader} of ${runId} has too many lines`)
    }
    violations.push(...faultsOf(all, valid).map((fault) => `run ${runId}: ${fault}`))
  }
  for (const line of acknowledged) if (!there.has(line)) violations.push(`acknowledged and lost: ${line}`)
  return { items, voided, acknowledged: acknowledged.length, violations }
}

function faultsOf(all: readonly StreamItem<Word>[], valid: readonly Word[]): string[] {
  const faults: string[] = []
  const gap = all.findIndex(({ offset }, index) => offset !== index)
  if (gap >= 0) faults.push(`offset ${all[gap]?.offset} is at place ${gap}`)
  // Within a part, words follow each other.
  const next = new Map<number, number>()
  for (const { offset, chunk, part } of all) {
    const expected = next.get(part.number)
    if (expected !== undefined && chunk.n !== expected)
      faults.push(`offset ${offset} is word ${chunk.n}, not ${expected}`)
    next.set(part.number, chunk.n + 1)
  }
  // What is valid in the end is what an execution without crashes writes.
  for (let round = 1; round <= ROUNDS; round++) {
    for (const by of ['code', 'again', 'resumed'] as const) {
      const said = valid.filter((word) => word.by === by && word.round === round).map(({ n }) => n)
      const expected = Array.from({ length: WORDS[by] }, (_, n) => n)
      if (said.join() !== expected.join()) faults.push(`round ${round}, ${by}: valid are ${said.join()}`)
    }
  }
  return faults
}

export function describeStreams({ kills, violations, complaints, ...numbers }: StreamKillReport): string {
  const lines = Object.entries({ ...kills, ...numbers }).map(
    ([name, value]) => `  ${name}: ${Math.round(value * 10) / 10}`,
  )
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`  ${title} (${items.length}):`, ...items.slice(0, 20)]
  return [...lines, ...list('complaints', complaints), ...list('VIOLATIONS', violations)].join('\n')
}
