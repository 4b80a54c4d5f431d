// Two handles on one store, as in two processes: what one has written, the other sees at once, even if it had read just
// before.
import {
  ALICE,
  apply,
  BOB,
  claim,
  created,
  messageIds,
  newRun,
  openSession,
  postTo,
  release,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { outcomes, same } from './check.ts'

export const handleCases: readonly Case[] = [
  {
    name: 'a run created by one handle takes messages of another that has seen the store without it',
    async run({ store, other }) {
      const second = await other()
      same(outcomes(await second.post([postTo('run', 'early')])), ['missing'], 'before')
      await created(store, newRun('run'))
      same(outcomes(await second.post([postTo('run', 'm1')])), ['accepted'], 'after')
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
    },
  },
  {
    name: 'a run created by one handle is found, loaded and listed by another',
    async run({ store, other }) {
      const second = await other()
      same((await second.list({ limit: 10 })).runs, [], 'the list before')
      await created(store, newRun('run', { workflowId: 'named' }))
      const named = await second.load([{ type: 'named', workflowId: 'named' }])
      same(named, [{ type: 'named', runId: 'run' }], 'the run of the name')
      same((await snapshot(second, 'run')).status, 'pending', 'the status')
      same((await second.list({ limit: 10 })).runs.length, 1, 'the list')
    },
  },
  {
    name: 'a workflow id that one handle frees can be used through another at once',
    async run({ store, other }) {
      const second = await other()
      const first = newRun('first', { workflowId: 'order 1' })
      const next = newRun('next', { workflowId: 'order 1', reuse: 'allowIfFailed' })
      await openSession(store)
      await created(store, first)
      same(outcomes(await second.create([next])), ['refused'], 'while it is open')
      const failed = { type: 'end', status: 'failed' } as const
      await apply(store, turn(await take(store, 'first'), { next: failed }))
      same(outcomes(await second.create([next])), ['created'], 'after it failed')
    },
  },
  {
    name: 'a message posted by one handle is brought by the next claim of another',
    async run({ store, other }) {
      const second = await other()
      await openSession(store, ALICE)
      await openSession(second, BOB)
      await created(store, newRun('run'))
      await release(store, await take(store, 'run'))
      same((await claim(second, {}, BOB)).runs, [], 'nothing is due')
      await store.post([postTo('run', 'm1')])
      const { messages } = await take(second, 'run', BOB)
      same(messageIds(messages), ['m1'], 'the messages')
    },
  },
]
