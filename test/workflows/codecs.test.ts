// Bodies that the store cannot read, and workers that cannot read them either.
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { activity, type Codec, type OpenOptions, signal, TIMEOUT, workflow } from 'pawl'
import { compress, encrypt } from 'pawl/codecs'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type Bench, Gate, heard, historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const [one, two] = [randomBytes(32), randomBytes(32)]
const k1 = encrypt({ keys: { k1: one }, current: 'k1' })
const both = encrypt({ keys: { k1: one, k2: two }, current: 'k2' })
const k2 = encrypt({ keys: { k2: two }, current: 'k2' })

const MARK = 'plain-as-day'

const go = signal<string>('go')
const shout = activity('shout', async (text: string) => `${text}!`)
const child = workflow('child', async (_ctx, text: string) => `${text}?`)
const talk = workflow('talk', async (ctx, text: string) => {
  const loud = await ctx.run(shout, text)
  const asked = await ctx.child(child, loud)
  const said = await ctx.wait(go)
  return { loud, asked, said }
})
const code = { workflows: [talk, child], activities: [shout] }

/** All that is kept, as text. */
async function everything({ kind, url }: Bench): Promise<string> {
  if (kind === 'postgres') return dump(url)
  const folder = kind === 'file' ? url.slice('file:'.length) : dirname(url.slice('sqlite:'.length))
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const bodies = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1'))
  return (await Promise.all(bodies)).join('\n')
}

async function dump(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') })
  await client.connect()
  try {
    const schema = new URL(url).searchParams.get('schema')
    const { rows } = await client.query<{ name: string }>(
      `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname = $1`,
      [schema],
    )
    const tables: string[] = []
    for (const { name } of rows) tables.push(JSON.stringify((await client.query(`select * from ${name}`)).rows))
    return tables.join('\n')
  } finally {
    await client.end()
  }
}

/** A run that has done something and waits, and the worker gone. */
async function begun(bench: Bench, codecs: readonly Codec[], input = MARK): Promise<string> {
  const { engine } = await bench.worker({ ...code, codecs })
  const run = await engine.start(talk, input, { memo: { secret: MARK } })
  await waitsFor(run, 'signal')
  await engine.close()
  return run.runId
}

describe.each(['sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('P12: nothing of a run can be read in the store, and everything through the codecs', async () => {
    const codecs = [compress({ above: 100 }), k1]
    const { engine } = await bench.worker({ ...code, codecs })
    const run = await engine.start(talk, MARK, { memo: { secret: MARK }, workflowId: 'open-1' })
    await waitsFor(run, 'signal')
    await run.signal(go, MARK)
    const output = { loud: `${MARK}!`, asked: `${MARK}!?`, said: MARK }
    expect(await run.result()).toEqual(output)
    expect(await run.describe()).toMatchObject({ input: MARK, output, memo: { secret: MARK } })
    expect(JSON.stringify(await historyOf(run))).toContain(MARK)
    await engine.close()
    const kept = await everything(bench)
    expect(kept).not.toContain(MARK)
    expect(kept).toContain('~1 encrypt:k1 ')
    expect(kept).toContain('~1 compress encrypt:k1 ')
    // What stores work with stays readable.
    for (const text of ['talk', 'open-1']) expect(kept).toContain(text)
  })
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)
  const work = (options: OpenOptions) => bench.serve({ ...code, ...options })

  test('P12: keys are rotated while runs are in progress', async () => {
    const runId = await begun(bench, [k1])
    const second = await work({ codecs: [both] })
    const run = second.get(talk, runId)
    await run.signal(go, 'now')
    expect(await run.result()).toMatchObject({ loud: `${MARK}!`, said: 'now' })
    await second.close()
    // When the old key is gone, what only it had encrypted is, too, and the rest is not.
    const third = await work({ codecs: [k2] })
    expect(await third.get(talk, runId).result()).toMatchObject({ said: 'now' })
    const record = await third.get(runId).describe()
    expect(record).toMatchObject({ status: 'completed', output: { said: 'now' } })
    expect(record).toMatchObject({ input: undefined, unreadable: { code: 'CODEC_MISSING' } })
    expect(record.unreadable?.message).toMatch(/key 'k1'/)
    const { items } = await third.list()
    expect(items).toHaveLength(2)
    expect(await rejection(third.export().next())).toMatchObject({ code: 'CODEC_MISSING' })
  })

  test('P12: codecs are switched on for a store that has runs, and off again', async () => {
    const runId = await begun(bench, [])
    const second = await work({ codecs: [k1] })
    const run = second.get(talk, runId)
    expect(await run.describe()).toMatchObject({ input: MARK })
    await run.signal(go, 'now')
    expect(await run.result()).toMatchObject({ loud: `${MARK}!`, said: 'now' })
    await second.close()
    const third = await bench.engine(code)
    const error = await rejection(third.get(talk, runId).result())
    expect(error).toMatchObject({
      code: 'CODEC_MISSING',
      message: expect.stringMatching(/encrypt:k1/),
    })
    expect(await third.get(runId).describe()).toMatchObject({ input: MARK, status: 'completed' })
  })

  test('P12: data that looks like an envelope comes back as it was', async () => {
    const engine = await work({ codecs: [compress()] })
    for (const text of ['~1 compress AAAA', '~! {"code":"CODEC_FAILED"}', '{"json":"~1 x"}']) {
      expect(await engine.execute(child, text)).toBe(`${text}?`)
    }
  })

  test('P12: a run that a worker cannot read is left to one that can, and harms nobody beside it', async () => {
    const runId = await begun(bench, [k1])
    const blind = await bench.engine({ ...code, codecs: [k2] })
    const paused = heard(blind, 'run.paused')
    const client = await bench.engine({ codecs: [both] })
    await client.get(talk, runId).signal(go, 'hello')
    blind.work({ signals: false })
    expect(await paused).toMatchObject({ runId, failure: { code: 'CODEC_MISSING' } })
    expect(await blind.execute(child, 'others')).toBe('others?')
    const why = await client.get(runId).why()
    expect(why).toMatchObject({ reason: 'paused', failure: { code: 'CODEC_MISSING' } })
    expect(why.suggestion).toMatch(/codecs and keys/)
    expect(bench.logged).toContainEqual({
      level: 'warn',
      message: expect.stringMatching(/is paused: .*key 'k1'/),
    })
    // The same code with the key is another build, so it need not be told.
    await work({ codecs: [both] })
    expect(await client.get(talk, runId).result()).toMatchObject({ said: 'hello' })
    expect(bench.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('P12: a worker without any codecs leaves encoded runs alone', async () => {
    const runId = await begun(bench, [k1])
    const blind = await bench.engine({ ...code })
    const paused = heard(blind, 'run.paused')
    await blind.get(runId).signal(signal('nudge'), undefined)
    blind.work({ signals: false })
    expect(await paused).toMatchObject({ failure: { code: 'CODEC_MISSING' } })
    await blind.close()
    const seeing = await work({ codecs: [k1] })
    await seeing.get(talk, runId).signal(go, 'after all')
    expect(await seeing.get(talk, runId).result()).toMatchObject({ said: 'after all' })
  })
})

const tick = signal<number>('tick')
const gather = workflow('gather', async (ctx) => {
  const got: number[] = []
  while (got.length < 3) got.push(await ctx.wait(tick))
  return got
})

describe.each(kinds)('messages that cannot be read, on %s', (kind) => {
  const bench = useStore(kind)

  test('P12: they keep their place, with all that came after them', async () => {
    const blind = await bench.serve({ workflows: [gather], codecs: [k1] })
    const run = await blind.start(gather)
    await waitsFor(run, 'signal')
    const rotated = await bench.engine({ codecs: [both] })
    const paused = heard(blind, 'run.paused')
    await run.signal(tick, 1)
    await until(
      () => historyOf(run),
      (entries) => entries.some(({ type }) => type === 'SignalReceived'),
    )
    await rotated.get(run.runId).signal(tick, 2)
    await run.signal(tick, 3)
    expect(await paused).toMatchObject({ failure: { message: expect.stringMatching(/key 'k2'/) } })
    const seeing = await bench.serve({ workflows: [gather], codecs: [both] })
    expect(await seeing.get(gather, run.runId).result()).toEqual([1, 2, 3])
  })

  test('P12: what runs is finished first, and nothing is decided without them', async () => {
    const gate = new Gate()
    let ran = 0
    const patient = workflow('patient', async (ctx) => {
      const slow = await ctx.run('slow', { retry: 'none' }, async () => {
        ran++
        await gate.opened
        return 'slow'
      })
      const word = await ctx.wait(go, { timeout: '1ms' })
      return [slow, word === TIMEOUT ? 'too late' : word]
    })
    const quick = workflow('quick', async () => 1)
    const blind = await bench.serve({ workflows: [patient, quick], codecs: [k1] })
    const run = await blind.start(patient)
    await until(
      () => ran,
      (times) => times === 1,
    )
    const rotated = await bench.engine({ codecs: [both] })
    const paused = heard(blind, 'run.paused')
    await rotated.get(run.runId).signal(go, 'in time')
    // The holder has heard of it once it has claimed what was started after that.
    const other = await bench.engine({ codecs: [k1] })
    for (let n = 0; n < 2; n++) expect(await other.execute(quick)).toBe(1)
    expect(await run.why()).toMatchObject({ reason: 'activity' })
    gate.open()
    await paused
    const seeing = await bench.serve({ workflows: [patient], codecs: [both] })
    expect(await seeing.get(patient, run.runId).result()).toEqual(['slow', 'in time'])
    expect(ran).toBe(1)
  })

  test('P12: a run that cannot be read can be cancelled', async () => {
    const runId = await begun(bench, [k1])
    const blind = await bench.engine({ ...code, codecs: [k2] })
    const paused = heard(blind, 'run.paused')
    await blind.get(runId).signal(go, 'x')
    blind.work({ signals: false })
    await paused
    await blind.get(runId).cancel('nobody has the key')
    expect(await rejection(blind.get(runId).result())).toMatchObject({ name: 'CancelledError' })
  })

  test('P12: a task that cannot be read waits, and is no attempt', async () => {
    const far = activity('far', { queue: 'far', retry: 'none' }, async () => 'done')
    const caller = workflow('caller', async (ctx) => ctx.run(far))
    const engine = await bench.serve({ workflows: [caller], codecs: [k1] })
    const run = await engine.start(caller)
    await waitsFor(run, 'noWorker')
    const options = { activities: [far], codecs: [k2] }
    await bench.worker(options, { queues: ['far'] })
    const reader = await bench.engine({ codecs: [both] })
    const why = await waitsFor(reader.get(run.runId), 'backoff')
    expect(why.failure).toMatchObject({ code: 'CODEC_MISSING' })
    expect(bench.logged).toContainEqual({
      level: 'warn',
      message: expect.stringMatching(/activity 'far' of run .* cannot be read: .*key 'k1'/),
    })
  })
})
