// Moves runs in progress through several stores with `pawl move`, and kills that command again and again. Then a worker
// finishes them where they have come to.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { activity, type Engine, open, signal, workflow } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'

export interface MoveKillOptions {
  /** The URLs of the stores, in the order in which the runs move through them. */
  readonly stores: readonly string[]
  readonly runs: number
  /** Kills of each move. */
  readonly kills: number
  readonly seed: number
  /** A move is killed after this long, at most. */
  readonly pauseMsMax: number
  readonly progress?: (text: string) => void
}

export interface MoveKillReport {
  readonly seed: number
  readonly runs: number
  readonly kills: number
  readonly seconds: readonly number[]
  readonly violations: readonly string[]
}

const go = signal('go')
const CLI = join(import.meta.dirname, '../../src/cli/main.ts')
const AT_ONCE = 500

export async function moveAndKill(options: MoveKillOptions): Promise<MoveKillReport> {
  const { stores, runs, seed, progress = () => {} } = options
  const random = new SeededRandom(seed)
  const ran = new Map<string, number>()
  const violations: string[] = []
  const seconds: number[] = []
  let kills = 0
  const ids = Array.from({ length: runs }, (_, index) => `moves-${index}`)
  const [first = '', last = ''] = [stores[0], stores.at(-1)]
  await begin(first, ids, ran)
  progress(`${runs} runs are in progress, with ${runs / CHILD_EVERY} children`)
  for (const [index, to] of stores.entries()) {
    const from = stores[index - 1]
    if (from === undefined) continue
    const begun = Date.now()
    kills += await moveWithKills(from, to, random, options)
    seconds.push((Date.now() - begun) / 1_000)
    progress(`moved to the next store after ${kills} kills`)
    violations.push(...(await leftIn(from)))
  }
  violations.push(...(await finish(last, ids, ran)))
  const expected = 2 * runs + 2 * (runs / CHILD_EVERY)
  if (ran.size !== expected) violations.push(`${ran.size} steps ran, expected ${expected}`)
  for (const [step, times] of ran) if (times !== 1) violations.push(`${step} ran ${times} times`)
  return { seed, runs, kills, seconds, violations }
}

/** Every tenth run waits for a child. */
const CHILD_EVERY = 10

function definitionsOf(ran: Map<string, number>) {
  const step = activity('step', async (name: string, ctx) => {
    const key = `${ctx.runId} ${name}`
    ran.set(key, (ran.get(key) ?? 0) + 1)
  })
  const waits = workflow('waits', async (ctx) => {
    await ctx.run(step, 'before')
    await ctx.wait(go)
    await ctx.run(step, 'after')
    return 'done'
  })
  const parent = workflow('parent', async (ctx, id: string) => {
    await ctx.run(step, 'before')
    const result = await ctx.child(waits, undefined, { workflowId: `${id}-child` })
    await ctx.run(step, 'after')
    return result
  })
  const sleeps = workflow('sleeps', async (ctx) => {
    await ctx.run(step, 'before')
    await ctx.sleep('3s')
    await ctx.run(step, 'after')
    return 'done'
  })
  return { workflows: [waits, parent, sleeps], activities: [step], waits, parent, sleeps }
}

function kindOf(index: number): 'parent' | 'sleeps' | 'waits' {
  if (index % CHILD_EVERY === 0) return 'parent'
  return index % CHILD_EVERY === 1 ? 'sleeps' : 'waits'
}

async function openOn(url: string, ran: Map<string, number>): Promise<Engine> {
  const { workflows, activities } = definitionsOf(ran)
  return open(url, { workflows, activities, logger: { log() {} } })
}

async function begin(url: string, ids: readonly string[], ran: Map<string, number>): Promise<void> {
  const engine = await openOn(url, ran)
  const worker = engine.work({ signals: false })
  await worker.ready
  const { waits, parent, sleeps } = definitionsOf(ran)
  await inGroups(ids, async (workflowId, index) => {
    const kind = kindOf(index)
    if (kind === 'parent') await engine.start(parent, workflowId, { workflowId })
    else await engine.start(kind === 'sleeps' ? sleeps : waits, undefined, { workflowId })
  })
  // Until every first step is recorded.
  const steps = ids.length + ids.length / CHILD_EVERY
  while (ran.size < steps) await new Promise((resolve) => setTimeout(resolve, 10))
  await engine.close()
}

async function moveWithKills(
  from: string,
  to: string,
  random: SeededRandom,
  { kills, pauseMsMax }: MoveKillOptions,
): Promise<number> {
  for (let killed = 0; ; ) {
    const child = spawn(process.execPath, [CLI, 'move', '--from', from, '--to', to, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    const closed = once(child, 'close') as Promise<[number | null]>
    const timer = killed < kills ? setTimeout(() => child.kill('SIGKILL'), random.below(pauseMsMax)) : undefined
    const [code] = await closed
    clearTimeout(timer)
    if (code === 0) return killed
    if (code !== null) throw new Error(`pawl move failed:\n${output}`)
    killed++
  }
}

/** What is still in progress in a store that the runs have left. */
async function leftIn(url: string): Promise<string[]> {
  const engine = await openOn(url, new Map())
  try {
    const { items } = await engine.list({ status: ['pending', 'running', 'waiting', 'paused', 'completed'] })
    return items.map(({ runId, status }) => `run ${runId} is ${status} where it has left`)
  } finally {
    await engine.close()
  }
}

async function finish(url: string, ids: readonly string[], ran: Map<string, number>): Promise<string[]> {
  const violations: string[] = []
  const engine = await openOn(url, ran)
  await engine.work({ signals: false }).ready
  await inGroups(ids, async (workflowId, index) => {
    const kind = kindOf(index)
    const waiter = kind === 'parent' ? `${workflowId}-child` : workflowId
    if (kind !== 'sleeps') await engine.get({ workflowId: waiter }).signal(go)
    const result = await engine.get({ workflowId }).result({ timeout: '120s' })
    if (result !== 'done') violations.push(`${workflowId} ended with ${JSON.stringify(result)}`)
  })
  await engine.close()
  return violations
}

async function inGroups(ids: readonly string[], work: (id: string, index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < ids.length; from += AT_ONCE)
    await Promise.all(ids.slice(from, from + AT_ONCE).map((id, index) => work(id, from + index)))
}
