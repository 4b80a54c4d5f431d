// What the tests of schedules have in common: an engine at a full hour, and which slots were started.
import { type RunRecord, signal, workflow } from 'pawl'
import { type TestEngine, testEngine } from 'pawl/testing'
import { orderSchema } from './fake-schemas.ts'

export const finish = signal('finish')
export const quick = workflow('quick', async (_ctx, tag: string) => tag)
export const other = workflow('other', async (_ctx, tag: string) => tag)
export const order = workflow('order', { input: orderSchema }, async (_ctx, { id }) => id)
export const long = workflow('long', async (ctx) => ctx.wait(finish))

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export async function atHour(at?: string): Promise<TestEngine> {
  const engine = await testEngine({ workflows: [quick, other, long], skipTime: false })
  const hour = Math.ceil(engine.clock.now() / HOUR) * HOUR
  await engine.clock.set(new Date(at ?? hour))
  return engine
}

/** By their slots. */
export async function runsOf(engine: TestEngine, name: string): Promise<readonly RunRecord[]> {
  const { items } = await engine.list({ workflow: name }, { limit: 1_000 })
  return items.toSorted((a, b) => Number(a.attributes['slot']) - Number(b.attributes['slot']))
}

export async function slotsOf(engine: TestEngine, name: string): Promise<string[]> {
  const runs = await runsOf(engine, name)
  return runs.map(({ attributes }) => (attributes['slot'] as Date).toISOString())
}

export async function minutesOf(engine: TestEngine, name: string): Promise<number[]> {
  return (await slotsOf(engine, name)).map((slot) => new Date(slot).getUTCMinutes())
}
