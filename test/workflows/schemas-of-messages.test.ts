// What is sent to a run passes the schema of its signal before it is sent. A schema checks here, and changes nothing.
import { PawlError, type Schema, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { kinds, rejection, useStore, waitsFor } from './each-store.ts'
import { amountSchema, schemaOf, slow } from './fake-schemas.ts'

const deposit = signal('deposit', amountSchema)
const slowly = signal('deposit', slow(amountSchema))
const account = workflow('account', async (ctx) => ctx.wait(deposit))
const refusal = {
  code: 'INPUT_INVALID',
  message: "the payload of signal 'deposit' does not fit its schema: not an amount",
  details: { issues: [{ message: 'not an amount', path: [] }] },
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('a payload that the schema refuses is not sent; any other is sent as it was given', async () => {
    const engine = await bench.serve({ workflows: [account] })
    const run = await engine.start(account)
    for (const each of [deposit, slowly]) {
      expect(await rejection(run.signal(each, -1))).toMatchObject(refusal)
      const started = { signal: each, payload: -1, workflowId: 'w' }
      expect(await rejection(engine.signalWithStart(account, started))).toMatchObject(refusal)
      const batch = engine.batch({ workflow: account }, { limit: 5 })
      expect(await rejection(batch.signal(each, -1))).toMatchObject(refusal)
    }
    expect(await engine.count()).toBe(1)
    await waitsFor(run, 'signal')
    expect(await engine.batch({}, { limit: 5 }).signal(slowly, 1.5)).toMatchObject({ done: 1 })
    expect(await run.result()).toBe(1.5)
    const started = { signal: deposit, payload: 2.5, workflowId: 'w' }
    expect(await (await engine.signalWithStart(account, started)).result()).toBe(2.5)
  })

  test('ctx.signal and a child are sent nothing that does not fit, and cannot wait to find out', async () => {
    const codes: unknown[] = []
    const teller = workflow('teller', async (ctx, to: string) => {
      const child = ctx.child(account)
      const tries = [
        () => ctx.signal(to, deposit, -1),
        () => ctx.signal(to, slowly, 1),
        () => child.signal(deposit, -1),
      ]
      for (const each of tries) {
        const error = await rejection((async () => each())())
        await ctx.run('note', () => codes.push(error instanceof PawlError && error.code))
      }
      await ctx.signal(to, deposit, 5)
      await child.signal(deposit, 6)
      return child
    })
    const engine = await bench.serve({ workflows: [account, teller] }, { warm: 0 })
    const run = await engine.start(account)
    expect(await engine.execute(teller, run.runId)).toBe(6)
    expect(await run.result()).toBe(5)
    expect(codes).toEqual(['INPUT_INVALID', 'NOT_SUPPORTED', 'INPUT_INVALID'])
  })

  test('what was sent is not checked again when the code is replayed', async () => {
    let lenient = true
    const schema: Schema<number> = schemaOf((value) =>
      lenient ? { value: value as number } : { issues: [{ message: 'no more' }] },
    )
    const changing = signal('deposit', schema)
    const go = signal('go')
    const teller = workflow('teller', async (ctx, to: string) => {
      await ctx.signal(to, changing, 5)
      await ctx.wait(go)
      return 'sent'
    })
    const engine = await bench.serve({ workflows: [account, teller] }, { warm: 0 })
    const run = await engine.start(account)
    const told = await engine.start(teller, run.runId)
    await waitsFor(told, 'signal')
    lenient = false
    await told.signal(go)
    expect(await told.result()).toBe('sent')
  })

  test('the payload of a webhook is checked where the code gets it', async () => {
    const tokens: string[] = []
    const hooked = workflow('hooked', async (ctx) => {
      const first = ctx.webhook('first', amountSchema)
      const second = ctx.webhook('second', amountSchema)
      const third = ctx.webhook('third', slow(amountSchema))
      await ctx.run('tell', () => tokens.push(first.token, second.token, third.token))
      const told = async (each: typeof first): Promise<unknown> =>
        ctx.wait(each).catch((error: unknown) => error instanceof PawlError && error.message)
      return [await told(first), await told(second), await told(third)]
    })
    const engine = await bench.serve({ workflows: [hooked] }, { warm: 0 })
    const run = await engine.start(hooked)
    await waitsFor(run, 'webhook')
    for (const [index, payload] of [1.5, -1, 1].entries()) {
      await engine.resolve(tokens[index] ?? '', payload)
    }
    expect(await run.result()).toEqual([
      1.5,
      "the payload of webhook 'second' does not fit its schema: not an amount",
      expect.stringContaining("the schema of the payload of webhook 'third' is asynchronous"),
    ])
  })

  test('a schema of zod fits as it is', async () => {
    const orders = z.object({
      id: z.string().trim().min(2),
      lines: z.array(z.object({ cents: z.number().int() })).default([]),
      due: z.iso.date().transform((text) => new Date(text)),
    })
    const total = workflow('total', { input: orders, output: z.number() }, async (_ctx, given) =>
      given.lines.reduce((sum, { cents }) => sum + cents, given.due.getUTCFullYear()),
    )
    const engine = await bench.serve({ workflows: [total] })
    const run = await engine.start(total, { id: ' A1 ', due: '2030-01-02' })
    expect(await run.result()).toBe(2030)
    expect((await run.describe()).input).toEqual({
      id: 'A1',
      lines: [],
      due: new Date('2030-01-02'),
    })
    const wrong = { id: 'A', due: '2030-01-02', lines: [{ cents: 1 }, { cents: 0.5 }] }
    const error = await rejection(engine.start(total, wrong))
    expect(error).toMatchObject({
      code: 'INPUT_INVALID',
      details: { issues: [{ path: ['id'] }, { path: ['lines', 1, 'cents'] }] },
    })
  })
})
