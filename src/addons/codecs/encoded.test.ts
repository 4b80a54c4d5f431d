import { describe, expect, test } from 'vitest'
import { isEncoded, sealEnvelope } from '../../core/base/envelope.ts'
import { RetryableError } from '../../core/base/errors.ts'
import { decodePayload } from '../../core/kernel/codec.ts'
import { isUnavailable } from '../../core/runtime/availability.ts'
import { MemoryDatabase, MemoryStore } from '../../core/stores/memory/store.ts'
import type { Store } from '../../core/stores/store.ts'
import { wrapped } from '../../core/stores/wrapped.ts'
import {
  ALICE,
  hold,
  message,
  newRun,
  newTask,
  openSession,
  request,
  turn,
} from '../../testing/conformance/builders.ts'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { type Codec, Codecs } from './codec.ts'
import { compress } from './compress.ts'
import { encoded } from './encoded.ts'
import { encrypt } from './encrypt.ts'

const key = new Uint8Array(32).fill(7)
const secret = encrypt({ keys: { k1: key }, current: 'k1' })
const codecs = [compress({ above: 0 }), secret]

describe('P12: encoded memory store', () => {
  const makeFixture = async (): Promise<OpenFixture> => {
    const clock = new VirtualClock()
    const database = new MemoryDatabase()
    const open = () => encoded(new MemoryStore({ clock, database }), codecs)
    return { store: open(), clock, other: async () => open(), close: async () => {} }
  }
  for (const each of conformance) test(each.name, () => runCase(each, makeFixture))
})

/** A codec that writes the text backwards, and fails where it is told to. */
function backwards(fail: { encode?: unknown; decode?: unknown } = {}): Codec {
  const turned = (bytes: Uint8Array): Uint8Array => bytes.toReversed()
  return {
    id: 'backwards',
    encode: async (bytes) => {
      if (fail.encode !== undefined) throw fail.encode
      return turned(bytes)
    },
    decode: async (bytes) => {
      if (fail.decode !== undefined) throw fail.decode
      return turned(bytes)
    },
  }
}

function memory(): MemoryStore {
  return new MemoryStore({ clock: new VirtualClock() })
}

/** Everything that is said to a store, and what it answers. */
function overheard(store: Store): { store: Store; said: unknown[] } {
  const said: unknown[] = []
  const heard = wrapped(store, (_method, call) => async (...args) => {
    const answer = await call(...args)
    said.push(args, answer)
    return answer
  })
  return { store: heard, said }
}

const hidden = '{"json":"hidden"}'
const told = { id: 'told', body: hidden }

describe('what the store gets to see', () => {
  test('P12: no body of any call or answer, wherever it stands', async () => {
    const { store: raw, said } = overheard(memory())
    const store = encoded(raw, codecs)
    const past = { turnId: 1, count: 1, body: hidden }
    const child = newRun('child', { input: hidden, extras: hidden, message: told, past })
    const run = await hold(store, 'run', { input: hidden, extras: hidden, past, message: told })
    expect(run).toMatchObject({ head: { input: hidden, extras: hidden }, messages: [told] })
    await store.create([newRun('other', { input: hidden, displaced: told })])
    await store.post([{ runId: 'other', message: told }])
    const notes = { runId: 'run', generation: 1, key: 'step', name: 'beat', body: hidden }
    expect(await store.note([notes])).toEqual([{ body: hidden }])
    const outbox = [
      { type: 'start', run: child, otherwise: told },
      { type: 'post', runId: 'other', message: { id: 'sent', body: hidden } },
    ] as const
    const tasks = [newTask('a', { body: hidden }), newTask('b', { body: hidden })]
    const first = turn(run, { body: hidden, outbox, tasks, consumed: ['told'] })
    expect(await store.commit([first])).toEqual([{ outcome: 'applied' }])
    const claimed = await store.claim(request(ALICE, { runs: 0 }))
    expect(claimed.tasks.map(({ body }) => body)).toEqual([hidden, hidden])
    const [a, b] = claimed.tasks
    await store.settle([
      { taskId: 'a', lease: a?.lease ?? run.lease, result: { type: 'done', message: told } },
      {
        taskId: 'b',
        lease: b?.lease ?? run.lease,
        result: { type: 'retry', delayMs: 9, failed: 1, failure: hidden },
      },
    ])
    const { news } = await store.claim(request(ALICE, { runs: 0, held: ['run'] }))
    expect(news).toEqual([{ runId: 'run', messages: [told] }])
    const pause = { type: 'pause', build: 'b', failure: hidden } as const
    const second = { seq: 2, body: hidden, next: pause }
    expect(await store.commit([turn(run, second)])).toEqual([{ outcome: 'more', messages: [told] }])
    await store.commit([turn(run, { ...second, consumed: ['told'] })])
    const asks = [
      { type: 'run', runId: 'run' },
      { type: 'history', runId: 'run', after: 0, turns: 9 },
      { type: 'tasks', runId: 'run' },
      { type: 'notes', runId: 'run', generation: 1, key: 'step' },
    ] as const
    const [found, history, left, noted] = await store.load(asks)
    expect(found).toMatchObject({ run: { head: { input: hidden }, paused: { failure: hidden } } })
    expect(history).toMatchObject({ turns: [{ body: hidden }, { body: hidden }, { body: hidden }] })
    expect(left).toMatchObject({ tasks: [{ failure: hidden }] })
    expect(noted).toMatchObject({ notes: { beat: hidden } })
    const { runs } = await store.list({ limit: 9 })
    expect(runs.map(({ head }) => head.input)).toEqual([hidden, hidden, hidden])
    expect(JSON.stringify(said)).not.toContain('hidden')
    expect(JSON.stringify(said).match(/~1 encrypt:k1 |~1 compress encrypt:k1 /g)?.length).toBeGreaterThan(30)
  })

  test('P12: the next generation, and the last turn of a run that ended', async () => {
    const { store: raw, said } = overheard(memory())
    const store = encoded(raw, codecs)
    const run = await hold(store)
    const next = { type: 'continue', past: { turnId: 5, count: 1, body: hidden } } as const
    await store.commit([turn(run, { body: hidden, next })])
    const [again] = (await store.claim(request(ALICE))).runs
    expect(again).toMatchObject({ head: { generation: 2 } })
    const ending = { generation: 2, seq: 1, body: hidden } as const
    if (again) await store.commit([turn(again, { ...ending, next: { type: 'end', status: 'completed' } })])
    const [loaded] = await store.load([{ type: 'run', runId: 'run' }])
    expect(loaded).toMatchObject({ run: { last: hidden } })
    expect(JSON.stringify(said)).not.toContain('hidden')
  })

  test('P12: records, whose keys and spaces stay as they are', async () => {
    const { store: raw, said } = overheard(memory())
    const store = encoded(raw, codecs)
    const put = {
      type: 'put',
      space: 'space',
      key: 'key',
      version: 0,
      body: hidden,
      writeId: 1,
    } as const
    const record = { key: 'key', version: 1, body: hidden }
    const applied = { type: 'put', outcome: 'applied' }
    expect(await store.records([put])).toEqual([applied])
    // It is encoded anew each time, and known by its id.
    const asks = [
      put,
      { ...put, version: 3 },
      { type: 'get', space: 'space', key: 'key' },
      { type: 'list', space: 'space', limit: 9 },
    ] as const
    expect(await store.records(asks)).toEqual([
      applied,
      { type: 'put', outcome: 'conflict', record },
      { type: 'get', record },
      { type: 'list', records: [record] },
    ])
    expect(JSON.stringify(said)).not.toContain('hidden')
    expect(JSON.stringify(said)).toContain('"space":"space","key":"key"')
  })

  test('P12: what is done in a transaction of the store, or of the caller', async () => {
    const kept: string[] = []
    const sql = { query: async () => [] }
    const inner: Store = {
      ...wrapped(memory(), (_method, call) => call),
      transact: async (_of, body) => {
        kept.push(await body(sql))
        return kept.at(-1) ?? ''
      },
      createIn: async (_client, runs) => {
        kept.push(...runs.map(({ input }) => input))
        return runs.map(() => ({ outcome: 'created', now: 1 }) as const)
      },
    }
    const store = encoded(inner, codecs)
    const of = { runId: 'run', generation: 1, key: 'step' }
    expect(await store.transact?.(of, async () => hidden)).toBe(hidden)
    await store.createIn?.({ query: async () => ({ rows: [] }) }, [newRun('a', { input: hidden })])
    expect(kept.every(isEncoded)).toBe(true)
    expect(kept).toHaveLength(2)
    expect(encoded(memory(), codecs)).not.toHaveProperty('transact')
  })

  test('P12: turns without events stay empty', async () => {
    const chain = new Codecs(codecs)
    expect([await chain.encode(''), await chain.decode('')]).toEqual(['', ''])
  })
})

describe('envelopes', () => {
  test('P12: codecs are undone in reverse, and one that leaves a body alone is not named', async () => {
    const chain = new Codecs([backwards(), compress({ above: 1_000 }), secret])
    const text = await chain.encode(hidden)
    expect(text).toMatch(/^~1 backwards encrypt:k1 [A-Za-z0-9+/=]+$/)
    expect(await chain.decode(text)).toBe(hidden)
    const plain = new Codecs([compress({ above: 1_000 })])
    expect(await plain.encode(hidden)).toBe(hidden)
  })

  test('P12: data that looks like an envelope is data', async () => {
    const chain = new Codecs([compress({ above: 1_000 })])
    const forged = sealEnvelope({ ids: ['compress'], bytes: Buffer.from('x') })
    for (const text of [forged, '~', '~!', `{"json":${JSON.stringify(forged)}}`]) {
      const stored = await chain.encode(text)
      expect(stored.startsWith('~1 ') || stored === text).toBe(true)
      expect(await chain.decode(stored)).toBe(text)
    }
  })

  test('P12: bodies from before there were codecs are read as they are', async () => {
    const database = new MemoryDatabase()
    const inner = new MemoryStore({ clock: new VirtualClock(), database })
    await inner.create([newRun('old', { input: hidden })])
    const store = encoded(inner, codecs)
    await store.create([newRun('new', { input: hidden })])
    const { runs } = await store.list({ limit: 9 })
    expect(runs.map(({ head }) => head.input)).toEqual([hidden, hidden])
    expect(database.tables.run('old')?.head.input).toBe(hidden)
    expect(database.tables.run('new')?.head.input).toMatch(/^~1 /)
  })

  test('P12: a codec that is missing is named, and so is a key', async () => {
    const text = await new Codecs(codecs).encode(hidden)
    const without = await new Codecs([compress()]).decode(text)
    expect(() => decodePayload(without)).toThrow(
      expect.objectContaining({
        code: 'CODEC_MISSING',
        message: expect.stringMatching(/no codec 'encrypt', only compress/),
      }),
    )
    const other = encrypt({ keys: { k2: key }, current: 'k2' })
    const locked = await new Codecs([compress(), other]).decode(text)
    expect(() => decodePayload(locked)).toThrow(
      expect.objectContaining({
        code: 'CODEC_MISSING',
        message: expect.stringMatching(/key 'k1'/),
      }),
    )
  })

  test('P12: what could not be decoded is never written', async () => {
    const lost = await new Codecs([backwards()]).decode(await new Codecs(codecs).encode(hidden))
    const store = encoded(memory(), [backwards()])
    await expect(store.create([newRun('copy', { extras: lost })])).rejects.toMatchObject({
      code: 'CODEC_MISSING',
    })
  })

  test('P12: ids that could not be found again are refused', () => {
    const named = (id: string): Codec => ({ ...backwards(), id })
    for (const id of ['', 'a b', 'a\n', 'a:b:c', 'ü'])
      expect(() => new Codecs([named(id)])).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(() => new Codecs([named('a:1'), named('a:2')])).toThrow(
      expect.objectContaining({ code: 'DEFINITION_CONFLICT' }),
    )
    expect(() => new Codecs([{ id: 'a' } as unknown as Codec])).toThrow(/encode and decode/)
  })
})

describe('codecs that fail', () => {
  test('P12: one body that cannot be decoded harms no other', async () => {
    const inner = memory()
    const writer = encoded(inner, codecs)
    await openSession(inner)
    await writer.create([newRun('locked', { input: hidden })])
    await inner.create([newRun('plain', { input: hidden })])
    const { runs } = await encoded(inner, [backwards()]).claim(request(ALICE))
    const inputs = runs.map(({ head }) => head.input)
    expect(inputs).toContain(hidden)
    expect(inputs.find((each) => each !== hidden)).toMatch(/^~! .*CODEC_MISSING/)
  })

  test('P12: what may pass is waited for: reading throws, and gives nothing away', async () => {
    const inner = memory()
    await openSession(inner)
    await encoded(inner, [backwards()]).create([newRun('run')])
    const heard: string[] = []
    const away = backwards({ decode: new RetryableError('the key service is away') })
    const store = encoded(inner, [away], (text) => heard.push(text))
    const error: unknown = await store.claim(request(ALICE)).catch((thrown: unknown) => thrown)
    expect(isUnavailable(error)).toBe(true)
    expect(heard).toEqual([expect.stringMatching(/the key service is away/)])
    // The grant is in the store; a claim with `reconcile` returns it.
    const again = await encoded(inner, [backwards()]).claim(request(ALICE, { reconcile: true }))
    expect(again.runs).toMatchObject([{ head: { runId: 'run', input: newRun('run').input } }])
  })

  test('P12: a start that cannot be encoded is refused, and nothing is written', async () => {
    const inner = memory()
    const store = encoded(inner, [backwards({ encode: new Error('no') })])
    await expect(store.create([newRun('run')])).rejects.toMatchObject({
      code: 'CODEC_FAILED',
      message: "codec 'backwards' could not encode: no",
    })
    await expect(store.post([{ runId: 'run', message: message('m') }])).rejects.toThrow('no')
    expect((await inner.list({ limit: 9 })).runs).toEqual([])
  })

  test('P12: a turn that cannot be encoded is waited for, and holds up no other', async () => {
    const inner = memory()
    const picky: Codec = {
      ...backwards(),
      encode: async (bytes) => {
        if (Buffer.from(bytes).includes('heavy')) throw new Error('too heavy')
        return bytes.toReversed()
      },
    }
    const heard: string[] = []
    const store = encoded(inner, [picky], (text) => heard.push(text))
    await openSession(store)
    await store.create([newRun('a'), newRun('b')])
    const [a, b] = (await store.claim(request(ALICE))).runs
    if (!a || !b) throw new Error('two runs are claimed')
    const turns = [turn(a, { body: '{"turn":"heavy"}' }), turn(b)]
    const error: unknown = await store.commit(turns).catch((thrown: unknown) => thrown)
    expect(isUnavailable(error)).toBe(true)
    expect(heard).toEqual([expect.stringMatching(/cannot be written: codec 'backwards'.*too heavy/)])
    const light = { ...turns[0], body: '{}' } as (typeof turns)[number]
    expect(await store.commit([light, ...turns.slice(1)])).toEqual([{ outcome: 'applied' }, { outcome: 'duplicate' }])
  })
})
