// Graphs that all processes of a test have code for. Every body notes in a ledger that it has begun and in which process;
// what a body waits for are facts in the same folder, never a time.
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { graph, type Workflow } from '../../src/index.ts'

/** A process, and the folder where those of its test meet. */
export interface Place {
  readonly folder: string
  readonly process: string
  /** Those with the same duty: none ends anything before each of them has begun something. */
  readonly colleagues?: readonly string[]
  /** After so many bodies it ends none that it begins. */
  readonly stuckAfter?: number
}

interface Body {
  readonly runId: string
  readonly stepKey: string
}

/** A body that has begun. */
export interface Line {
  readonly process: string
  readonly run: string
  readonly step: string
}

/** A → B → C, all of them taken from a queue. */
export function chain(place: Place): Workflow<number, { a: number; b: number; c: string }> {
  const begin = beginIn(place)
  return graph<number>('chain')
    .step('a', { queue: 'steps' }, async (ctx) => {
      await begin(ctx)
      return ctx.input + 1
    })
    .step('b', { after: ['a'], queue: 'steps' }, async (ctx) => {
      await begin(ctx)
      return ctx.results.a * 10
    })
    .step('c', { after: ['b'], queue: 'steps' }, async (ctx) => {
      await begin(ctx)
      return `${ctx.input}: ${ctx.results.b}`
    })
}

export interface Joined {
  readonly b: number
  readonly c: number
}

/** A → B, C → D. Neither B nor C ends before the other has begun. A and D run where the run is, B and C are taken from queues. */
export function diamond(place: Place, queues = { b: 'steps', c: 'steps' }): Workflow<number, Joined> {
  const begin = beginIn(place)
  return graph<number>('diamond')
    .step('a', async (ctx) => {
      await begin(ctx)
      return ctx.input + 1
    })
    .step('b', { after: ['a'], queue: queues.b }, async (ctx) => {
      await begin(ctx)
      await meet(place.folder, `b of ${ctx.runId}`, `c of ${ctx.runId}`)
      return ctx.results.a * 10
    })
    .step('c', { after: ['a'], queue: queues.c }, async (ctx) => {
      await begin(ctx)
      await meet(place.folder, `c of ${ctx.runId}`, `b of ${ctx.runId}`)
      return ctx.results.a * 100
    })
    .step('d', { after: ['b', 'c'] }, async (ctx): Promise<Joined> => {
      await begin(ctx)
      return ctx.results
    })
    .output(({ results }) => results.d)
}

export function readLedgers(folder: string): Line[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ledger'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as Line)
}

function beginIn({
  folder,
  process,
  colleagues = [],
  stuckAfter = Number.POSITIVE_INFINITY,
}: Place): (body: Body) => Promise<void> {
  const ledger = join(folder, `${process}.ledger`)
  const others = colleagues.map((each) => join(folder, `${each}.ledger`))
  let begun = 0
  return async ({ runId, stepKey }) => {
    const line: Line = { process, run: runId, step: stepKey }
    appendFileSync(ledger, `${JSON.stringify(line)}\n`)
    begun++
    if (begun > stuckAfter) await new Promise(() => {})
    await until(() => others.every((each) => existsSync(each)))
  }
}

async function meet(folder: string, who: string, whom: string): Promise<void> {
  writeFileSync(join(folder, who), '')
  await until(() => existsSync(join(folder, whom)))
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}
