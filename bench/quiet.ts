// The machine may be shared. This samples the CPU used by processes that are not ours (descendants of
// the measuring process are) and the hypervisor's steal, so that a measurement can wait for quiet, be
// taken again, or be flagged. It never touches another process. Needs Linux's /proc; elsewhere every
// measurement counts as quiet and only the load average is recorded.
import { readdirSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { now, sleep } from './time.ts'

export interface Noise {
  foreignCores: number
  stealPercent: number
  loadAverage: number
  /** The three foreign programs that used most. */
  foreignPrograms: string
}

export interface QuietRules {
  foreignCoresMax: number
  stealPercentMax: number
  /** How long to wait for quiet before measuring anyway. */
  waitMs: number
  /** How often to measure again when it was not quiet. */
  retries: number
}

export const patientRules: QuietRules = {
  foreignCoresMax: 0.1,
  stealPercentMax: 5,
  waitMs: 60_000,
  retries: 2,
}

export const hastyRules: QuietRules = { ...patientRules, waitMs: 0, retries: 0 }

export const isNoisy = (noise: Noise, rules: QuietRules): boolean =>
  noise.foreignCores > rules.foreignCoresMax || noise.stealPercent > rules.stealPercentMax

/** Measures on a quiet machine if it can be had, and keeps the quietest of the attempts. */
export async function measureQuietly<Result>(
  rules: QuietRules,
  measure: () => Promise<Result>,
): Promise<{ result: Result; noise: Noise; noisy: boolean }> {
  let best: { result: Result; noise: Noise } | undefined
  for (let attempt = 0; attempt <= rules.retries; attempt++) {
    await waitForQuiet(rules)
    const watch = new NoiseWatch()
    let result: Result
    try {
      result = await measure()
    } finally {
      watch.stop()
    }
    const noise = watch.noise()
    if (!best || badness(noise, rules) < badness(best.noise, rules)) best = { result, noise }
    if (!isNoisy(best.noise, rules)) break
  }
  if (!best) throw new Error('retries must not be negative')
  return { ...best, noisy: isNoisy(best.noise, rules) }
}

const badness = (noise: Noise, rules: QuietRules): number =>
  noise.foreignCores / rules.foreignCoresMax + noise.stealPercent / rules.stealPercentMax

async function waitForQuiet(rules: QuietRules): Promise<void> {
  const deadline = now() + rules.waitMs
  for (let told = false; now() < deadline; told = true) {
    const watch = new NoiseWatch()
    await sleep(1_000)
    watch.stop()
    const noise = watch.noise()
    if (!isNoisy(noise, rules)) return
    if (!told) console.error(`  waiting for quiet: ${describeNoise(noise)}`)
  }
}

export const describeNoise = (noise: Noise): string =>
  `${noise.foreignCores.toFixed(2)} foreign cores (${noise.foreignPrograms}), ` +
  `steal ${noise.stealPercent.toFixed(0)} %, load ${noise.loadAverage.toFixed(1)}`

interface ProcessUse {
  parent: number
  ticks: number
  startedAt: string
  program: string
}

interface Snapshot {
  processes: ReadonlyMap<number, ProcessUse>
  takenAt: number
  stealTicks: number
  totalTicks: number
}

const ticksPerSecond = 100
const samplingMs = 400
const kernelThreads = 2

class NoiseWatch {
  readonly #first = takeSnapshot()
  readonly #ticksByProgram = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #last = this.#first

  constructor() {
    // Sampled on the way too, so that a short-lived process is seen at least once.
    this.#timer = setInterval(() => this.#sample(), samplingMs)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#sample()
  }

  noise(): Noise {
    const seconds = (this.#last.takenAt - this.#first.takenAt) / 1_000
    const uses = [...this.#ticksByProgram].toSorted(([, left], [, right]) => right - left)
    const ticks = uses.reduce((sum, [, use]) => sum + use, 0)
    const total = Math.max(1, this.#last.totalTicks - this.#first.totalTicks)
    return {
      foreignCores: ticks / ticksPerSecond / seconds,
      stealPercent: (100 * (this.#last.stealTicks - this.#first.stealTicks)) / total,
      loadAverage: loadavg()[0] ?? Number.NaN,
      foreignPrograms: uses
        .slice(0, 3)
        .map(([program, use]) => `${program} ${(use / ticksPerSecond).toFixed(1)} s`)
        .join(', '),
    }
  }

  #sample(): void {
    const snapshot = takeSnapshot()
    const isOurs = ancestry(snapshot)
    for (const [id, use] of snapshot.processes) {
      if (use.parent === kernelThreads || isOurs(id)) continue
      const before = this.#last.processes.get(id)
      const sameProcess = before?.startedAt === use.startedAt
      const ticks = sameProcess ? use.ticks - before.ticks : use.ticks
      if (ticks <= 0) continue
      this.#ticksByProgram.set(use.program, (this.#ticksByProgram.get(use.program) ?? 0) + ticks)
    }
    this.#last = snapshot
  }
}

function ancestry(snapshot: Snapshot): (id: number) => boolean {
  const known = new Map<number, boolean>([[process.pid, true]])
  const isOurs = (id: number): boolean => {
    const answer = known.get(id)
    if (answer !== undefined) return answer
    const parent = snapshot.processes.get(id)?.parent ?? 0
    const ours = parent > kernelThreads && isOurs(parent)
    known.set(id, ours)
    return ours
  }
  return isOurs
}

function takeSnapshot(): Snapshot {
  const takenAt = now()
  if (process.platform !== 'linux') {
    return { processes: new Map(), takenAt, stealTicks: 0, totalTicks: 0 }
  }
  const processes = new Map<number, ProcessUse>()
  for (const name of readdirSync('/proc')) {
    const id = Number(name)
    const use = id > kernelThreads ? readProcess(id) : undefined
    if (use) processes.set(id, use)
  }
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
  const totalTicks = ticks.reduce((sum, part) => sum + part, 0)
  return { processes, takenAt, stealTicks: ticks[7] ?? 0, totalTicks }
}

function readProcess(id: number): ProcessUse | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${id}/stat`, 'utf8')
  } catch {
    return undefined // it ended between the listing and the reading
  }
  // The program's name may hold spaces and parentheses, so the fields are counted from its last one.
  const nameEnd = text.lastIndexOf(')')
  const fields = text.slice(nameEnd + 2).split(' ')
  return {
    parent: Number(fields[1]),
    ticks: Number(fields[11]) + Number(fields[12]),
    startedAt: fields[19] ?? '',
    program: text.slice(text.indexOf('(') + 1, nameEnd),
  }
}
