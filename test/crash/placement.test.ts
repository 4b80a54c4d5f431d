// Three workers with different queues and different code, killed and drained while they work: no body ever begins in a worker
// that lacks its queue or its code.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { activities, type Name, placed, roles } from './placed-definitions.ts'

const RUNS = 1_000
const BLOWS = 24
const MOST_RUNS = { timeout: 180_000 }

let folder: string
let workers: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-placed-'))
})
afterEach(async () => {
  for (const worker of workers.splice(0)) worker.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

async function begin(store: string, role: number): Promise<ChildProcess> {
  const script = join(import.meta.dirname, 'placed-worker.ts')
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const
  const child = spawn(process.execPath, [script, store, folder, String(role)], {
    stdio: [...stdio],
  })
  workers.push(child)
  await once(child, 'message')
  return child
}

/** Kills one, or asks it to drain, and starts another of its kind. */
async function strike(store: string, fleet: ChildProcess[], random: SeededRandom): Promise<void> {
  const role = random.below(roles.length)
  const child = fleet[role] as ChildProcess
  const exited = once(child, 'exit')
  child.kill(random.chance(0.5) ? 'SIGKILL' : 'SIGTERM')
  await exited
  fleet[role] = await begin(store, role)
}

test('api D1: an activity begins only where its queue is served and its code is', MOST_RUNS, async () => {
  const store = `sqlite:${join(folder, 'pawl.db')}`
  const random = new SeededRandom(7)
  const engine = await open(store)
  const fleet = await Promise.all(roles.map((_, role) => begin(store, role)))
  const inputs = Array.from({ length: RUNS }, (_, n) => ({ input: n }))
  const runs = await engine.startMany(placed, inputs)
  for (let blow = 0; blow < BLOWS; blow++) await strike(store, fleet, random)
  for (const [n, run] of runs.entries())
    expect(await run.result()).toEqual([`fetch ${n}`, `render ${n}`, `store ${n}`, `fetch ${n}`])
  await engine.close()
  const lines = (await readFile(join(folder, 'begun'), 'utf8')).trim().split('\n')
  const wrong = lines.filter((line) => {
    const [role = '', name = ''] = line.split(' ')
    const { queues = [], code = [] } = roles[Number(role)] ?? {}
    const { queue = '' } = activities[name as Name].options
    return !code.includes(name as Name) || !queues.includes(queue)
  })
  expect(wrong).toEqual([])
  expect(lines.length).toBeGreaterThanOrEqual(RUNS * 4)
})
