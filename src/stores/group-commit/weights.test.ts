import { describe, expect, test } from 'vitest'
import { limits } from '../../core/base/limits.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { MemoryStore } from '../../core/stores/memory/store.ts'
import type { ClaimedRun, NewRun, Store, TurnCommit } from '../../core/stores/store.ts'
import { asItIs, wrapped } from '../../core/stores/wrapped.ts'
import { message, newRun, newTask, turn } from '../../testing/conformance/builders.ts'
import { coalesced, weightOfOutcome, weightOfPost, weightOfRun, weightOfTurn } from './coalesced.ts'

const large = 'x'.repeat(100_000)
const lease = { session: 1, epoch: 1, nonce: 1 }
const past = { turnId: 1, count: 1, body: large }
const held = { head: { runId: 'r', generation: 1, createdAt: 1 }, lease, seq: 0 } as ClaimedRun

const runs: readonly [string, Partial<NewRun>][] = [
  ['input', { input: large }],
  ['extras', { extras: large }],
  ['past', { past }],
  ['message', { message: { id: 'm', body: large } }],
  ['message to who must make room', { displaced: { id: 'm', body: large } }],
  ['attributes', { attributes: { text: large } }],
]
const turns: readonly [string, Partial<TurnCommit>][] = [
  ['body', { body: large }],
  ['message to another run', { outbox: [{ type: 'post', runId: 'x', message: { id: 'm', body: large } }] }],
  ...runs.map(([name, run]): [string, Partial<TurnCommit>] => [
    `${name} of a new run`,
    { outbox: [{ type: 'start', run: newRun('x', run), otherwise: message('m') }] },
  ]),
  [
    'answer for a new run that is refused',
    { outbox: [{ type: 'start', run: newRun('x'), otherwise: { id: 'm', body: large } }] },
  ],
  ['task', { tasks: [newTask('t', { body: large })] }],
  ['failure', { next: { type: 'pause', failure: large } }],
  ['next generation', { next: { type: 'continue', past } }],
  ['attributes', { attributes: { text: large } }],
  ['ids of messages', { consumed: Array.from({ length: 4_000 }, (_, n) => `${n}`) }],
]

describe('stores D9: what an element takes counts', () => {
  test.each(runs)('the %s of a run', (_what, more) => {
    expect(weightOfRun(newRun('r', more))).toBeGreaterThan(large.length)
    expect(weightOfRun(newRun('r'))).toBeLessThan(1_000)
  })

  test.each(turns)('the %s of a turn', (_what, more) => {
    expect(weightOfTurn(turn(held, more))).toBeGreaterThan(large.length)
    expect(weightOfTurn(turn(held))).toBeLessThan(1_000)
  })

  test('a message, the result of a task, and why one failed', () => {
    expect(weightOfPost({ runId: 'r', message: { id: 'm', body: large } })).toBeGreaterThan(large.length)
    const done = { type: 'done', message: { id: 'm', body: large } } as const
    const retry = { type: 'retry', delayMs: 1, failed: 1, failure: large } as const
    for (const result of [done, retry])
      expect(weightOfOutcome({ taskId: 't', lease, result })).toBeGreaterThan(large.length)
    expect(weightOfOutcome({ taskId: 't', lease, result: { type: 'return' } })).toBeLessThan(1_000)
  })

  test('in bytes, not in characters', () => {
    expect(weightOfPost({ runId: 'r', message: { id: 'm', body: '€'.repeat(1_000) } })).toBeGreaterThan(3_000)
  })
})

test('stores D9: results of tasks travel in batches of bounded size', async () => {
  const sizes: number[] = []
  const memory = new MemoryStore({ clock: systemClock })
  const counting: Store = wrapped(memory, asItIs, {
    settle: async (outcomes) => {
      sizes.push(JSON.stringify(outcomes).length)
      return outcomes.map(() => ({ outcome: 'applied' }))
    },
  })
  const body = JSON.stringify('y'.repeat(200_000))
  const outcomes = Array.from({ length: 50 }, (_, n) => ({
    taskId: `${n}`,
    lease,
    result: { type: 'done', message: { id: `${n}`, body } } as const,
  }))
  await coalesced(counting).settle(outcomes)
  expect(Math.max(...sizes)).toBeLessThan(limits.batchBytes * 1.1)
})
