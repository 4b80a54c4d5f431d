// Streams of live events without a socket: their places, their heartbeat and how they end.
import { expect, test } from 'vitest'
import { limits } from '../core/base/limits.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { Streams } from './streams.ts'

/** A source whose batches a test pushes. */
function source() {
  const batches: (readonly { readonly event: string; readonly id?: string; readonly data: unknown }[])[] = []
  let tell = (): void => {}
  let returned = 0
  let pulled = 0
  async function* read(signal: AbortSignal) {
    try {
      for (;;) {
        pulled++
        while (batches.length === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            tell = resolve
            signal.addEventListener('abort', () => resolve(), { once: true })
          })
        }
        const batch = batches.shift()
        if (!batch) return
        yield batch
      }
    } finally {
      returned++
    }
  }
  const push = (...batch: (typeof batches)[number]): void => {
    batches.push(batch)
    tell()
  }
  return { read, push, counts: () => ({ returned, pulled }) }
}

function opened() {
  const clock = new VirtualClock()
  const streams = new Streams(clock)
  const gone = new AbortController()
  const { read, push, counts } = source()
  const slot = streams.open('a', [gone.signal])
  const texts = streams.texts(read(slot.signal), slot)[Symbol.asyncIterator]()
  return { clock, streams, gone, push, counts, texts, next: async () => (await texts.next()).value as unknown }
}

test('a stream that has nothing to say sends a comment now and then', async () => {
  const { clock, push, next, texts, streams } = opened()
  expect(await next()).toBe(`retry: ${limits.liveRetryMs}\n\n`)
  const beat = next()
  await clock.advance(limits.liveHeartbeatMs)
  expect(await beat).toBe(':\n\n')
  const event = next()
  await clock.advance(limits.liveHeartbeatMs / 2)
  push({ event: 'history', id: '1.2', data: { text: 'two\nlines' } }, { event: 'state', data: [] })
  expect(await event).toBe('id: 1.2\nevent: history\ndata: {"text":"two\\nlines"}\n\nevent: state\ndata: []\n\n')
  await texts.return?.()
  expect(streams.size).toBe(0)
})

test('it is pulled, its pieces are small, and no character is divided', async () => {
  const { push, next, counts, texts } = opened()
  await next()
  const data = '😀'.repeat(limits.liveChunkLength)
  push({ event: 'history', id: '1.1', data })
  push({ event: 'history', id: '1.2', data: 0 })
  let text = ''
  while (!text.endsWith('\n\n')) {
    const piece = String(await next())
    expect(piece.length).toBeLessThanOrEqual(limits.liveChunkLength)
    expect(piece.isWellFormed()).toBe(true)
    expect(counts().pulled).toBe(1)
    text += piece
  }
  expect(text).toBe(`id: 1.1\nevent: history\ndata: "${data}"\n\n`)
  expect(await next()).toBe('id: 1.2\nevent: history\ndata: 0\n\n')
  expect(counts().pulled).toBe(2)
  await texts.return?.()
})

test('it ends with its client, with its source, and after its longest life; its place is free then', async () => {
  const left = opened()
  await left.next()
  const waiting = left.next()
  left.gone.abort()
  expect(left.streams.size).toBe(0)
  expect(await waiting).toBe(`retry: ${limits.liveRetryMs}\n\n`)
  expect(await left.next()).toBeUndefined()
  expect(left.counts().returned).toBe(1)

  const old = opened()
  await old.next()
  let text: unknown
  for (let beats = 0; beats < 1_000 && text !== `retry: ${limits.liveRetryMs}\n\n`; beats++) {
    const next = old.next()
    await old.clock.advance(limits.liveHeartbeatMs)
    text = await next
  }
  expect(await old.next()).toBeUndefined()
  expect([old.streams.size, old.counts().returned]).toEqual([0, 1])
  expect(old.clock.monotonic()).toBeGreaterThanOrEqual(limits.liveStreamMs)

  const unread = opened()
  await unread.texts.return?.()
  expect(unread.streams.size).toBe(0)
})

test('places are counted by token and by process', () => {
  const streams = new Streams(new VirtualClock())
  const slots = Array.from({ length: limits.liveStreamsPerToken }, () => streams.open('a', []))
  expect(() => streams.open('a', [])).toThrow(`this token has ${limits.liveStreamsPerToken} open streams`)
  for (let token = 0; streams.size < limits.liveStreamsMax; token++) {
    for (let n = 0; n < limits.liveStreamsPerToken; n++) streams.open(`t${token}`, [])
  }
  slots[0]?.stop()
  slots[0]?.stop()
  streams.open('b', [])
  expect(() => streams.open('c', [])).toThrow('this server has 5000 open streams')
  expect(() => streams.open('d', [AbortSignal.abort()])).toThrow('this server has')
})
