// A message that no worker can read keeps its run from going on, until an operator drops it.
import { type HistoryEvent, type RunHandle, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { encrypt } from '../../src/addons/codecs/index.ts'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const keyed = (byte: number) => [encrypt({ keys: { k1: new Uint8Array(32).fill(byte) }, current: 'k1' })]
const [right, wrong] = [keyed(1), keyed(2)]
const [go, other] = [signal<string>('go'), signal<string>('other')]

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  const waits = workflow('waits', async (ctx) => {
    await ctx.run('first', () => 1)
    return ctx.wait(go)
  })

  test('faults 4.4: a paused run goes on without what its operator discards', async () => {
    const engine = await bench.serve({ workflows: [waits], codecs: right })
    const run = await engine.start(waits)
    await waitsFor(run, 'signal')
    const stranger = (await bench.engine({ codecs: wrong })).get(run.runId)
    await stranger.signal(other, 'a', { messageId: 'one' })
    const why = await waitsFor(run, 'paused')
    expect(why).toMatchObject({ messageId: 'signal:one', failure: { code: 'CODEC_FAILED' } })
    expect(why.suggestion).toContain(`pawl discard ${run.runId} signal:one`)
    await stranger.signal(other, 'b', { messageId: 'two' })
    await run.signal(go, 'good')
    expect(await rejection(run.discardMessage('signal:two'))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining("because of 'signal:one'"),
    })
    await run.discardMessage('signal:one', 'from a client with another key')
    await until(
      () => run.why(),
      (each) => each.reason === 'paused' && each.messageId === 'signal:two',
    )
    await run.discardMessage('signal:two')
    expect(await run.result()).toBe('good')
    const events = await eventsOf(run)
    const note = 'from a client with another key'
    const [one, two] = ['signal:one', 'signal:two'].map((message) =>
      expect.objectContaining({ type: discarded, discarded: message }),
    )
    expect(events).toEqual(expect.arrayContaining([one, two, expect.objectContaining({ note })]))
    expect(countOf(events, 'SignalReceived')).toBe(1)
  })

  test('faults 4.4: so does a run that is held, and one that is paused by hand stays paused', async () => {
    const [begun, finish] = [new Gate(), new Gate()]
    const busy = workflow('busy', async (ctx) => {
      await ctx.run('long', async () => {
        begun.open()
        await finish.opened
      })
      return ctx.wait(go)
    })
    const engine = await bench.serve({ workflows: [busy], codecs: right })
    const stranger = await bench.engine({ codecs: wrong })
    const run = await engine.start(busy)
    await begun.opened
    await stranger.get(run.runId).signal(other, 'a', { messageId: 'one' })
    await run.pause('by hand')
    await run.discardMessage('signal:one')
    finish.open()
    await until(
      () => run.why(),
      (each) => each.reason === 'paused' && each.note === 'by hand',
    )
    // What was discarded once is not taken when it is sent again in a way that can be read.
    await run.signal(other, 'a', { messageId: 'one' })
    await run.resume()
    await run.signal(go, 'good')
    expect(await run.result()).toBe('good')
    const events = await eventsOf(run)
    expect(countOf(events, discarded)).toBe(1)
    expect(countOf(events, 'SignalReceived')).toBe(1)
    expect(countOf(events, 'StepCompleted')).toBe(1)
  })

  test('faults 4.4: to discard what never came does not make it vanish when it comes', async () => {
    const client = await bench.engine({ codecs: right })
    const run = await client.start(waits)
    expect(await rejection(run.discardMessage('signal:two'))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('it has no unread messages'),
    })
    await run.signal(other, 'first', { messageId: 'one' })
    await run.discardMessage('signal:two')
    await run.signal(go, 'good', { messageId: 'two' })
    await bench.serve({ workflows: [waits], codecs: right })
    expect(await run.result()).toBe('good')
    expect(await eventsOf(run)).not.toContainEqual(expect.objectContaining({ type: discarded }))
  })

  test('faults 4.4: a message that can be read is taken, not discarded', async () => {
    const client = await bench.engine({ codecs: right })
    const run = await client.start(waits)
    await run.signal(go, 'good', { messageId: 'one' })
    await run.discardMessage('signal:one')
    await bench.serve({ workflows: [waits], codecs: right })
    expect(await run.result()).toBe('good')
    expect(await eventsOf(run)).not.toContainEqual(expect.objectContaining({ type: discarded }))
    expect(await rejection(run.discardMessage('signal:one'))).toMatchObject({ code: 'RUN_ENDED' })
  })
})

const discarded = 'MessageDiscarded'

async function eventsOf(run: RunHandle<unknown>): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = []
  for await (const event of run.history()) events.push(event)
  return events
}

function countOf(events: readonly HistoryEvent[], type: HistoryEvent['type']): number {
  return events.filter((event) => event.type === type).length
}
