// Lists by what only some runs have: a reason, a parent, a workflow id that begins with something; and counts that stop.
import type { ListQuery, Next, Store } from '../../core/stores/store.ts'
import {
  apply,
  created,
  ended,
  hold,
  idsOf,
  newRun,
  numbered,
  openSession,
  reopen,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { present, same } from './check.ts'

async function found(store: Store, query: Partial<ListQuery>): Promise<string[]> {
  const ids = idsOf((await store.list({ limit: 100, ...query })).runs).sort()
  same((await store.list({ limit: 1, ...query, count: true })).count, ids.length, 'the number')
  return ids
}

const waits = (reason?: string): Next => ({ type: 'release', status: 'waiting', ...(reason && { reason }) })
const failed = (reason: string): Next => ({ type: 'end', status: 'failed', reason })
const paused = (reason: string): Next => ({ type: 'pause', build: 'build-1', failure: '{}', reason })

const reasons: readonly Case[] = [
  {
    name: 'O4: waiting, paused and failed runs are found by their reason',
    async run({ store }) {
      await openSession(store)
      const nexts = {
        approval: waits('signal:approval'),
        'other signal': waits('signal:other'),
        signals: waits('signals'),
        without: waits(),
        stopped: paused('paused:DETERMINISM'),
        declined: failed('failed:CardDeclined'),
        é: failed('failed:é'),
        completed: ended,
      }
      for (const [id, next] of Object.entries(nexts)) await apply(store, turn(await hold(store, id), { next }))
      same((await snapshot(store, 'approval')).reason, 'signal:approval', 'a reason, loaded')
      same((await snapshot(store, 'without')).reason, undefined, 'no reason')
      same(await found(store, { reason: 'signal:approval' }), ['approval'], 'exactly')
      same(await found(store, { reason: 'signal:' }), ['approval', 'other signal'], 'a kind')
      same(await found(store, { reason: 'signal' }), [], 'a kind is no reason')
      same(await found(store, { reason: 'paused:' }), ['stopped'], 'paused')
      same(await found(store, { reason: 'failed:CardDeclined' }), ['declined'], 'failed')
      same(await found(store, { reason: 'failed:', statuses: ['failed'] }), ['declined', 'é'], 'with a status')
      same(await found(store, { reason: 'failed:', statuses: ['waiting'] }), [], 'with another status')
      same(
        await found(store, { reason: 'signal:', statuses: ['waiting', 'failed'] }),
        ['approval', 'other signal'],
        'two',
      )
      same(await found(store, { reason: 'signal:%' }), [], 'no pattern')
    },
  },
  {
    name: 'a reason is shown until the run is held, and replaced by the next one',
    async run({ store }) {
      await openSession(store)
      await apply(store, turn(await hold(store, 'run'), { next: { ...waits('timer'), wakeAt: 1 } as Next }))
      same(await found(store, { reason: 'timer' }), ['run'], 'while it waits')
      const held = await take(store, 'run')
      same((await snapshot(store, 'run')).reason, undefined, 'while it is held')
      same(await found(store, { reason: 'timer' }), [], 'while it is held')
      await apply(store, turn(held, { seq: 1, next: waits('signal:x') }))
      same(await found(store, { reason: 'timer' }), [], 'the old one')
      same((await snapshot(store, 'run')).reason, 'signal:x', 'the new one')
    },
  },
  {
    name: 'a next generation has no reason, whether the run had failed or been paused',
    async run({ store }) {
      await openSession(store)
      await apply(store, turn(await hold(store, 'failed'), { next: failed('failed:Error') }))
      await apply(store, turn(await hold(store, 'paused'), { next: paused('paused:Error') }))
      for (const id of ['failed', 'paused']) {
        // An archived run stays as it is.
        if (!(await reopen(store, undefined, id))) return
        same((await snapshot(store, id)).reason, undefined, id)
        await take(store, id)
      }
      same(await found(store, { reason: 'failed:' }), [], 'failed')
      same(await found(store, { reason: 'paused:' }), [], 'paused')
    },
  },
]

const others: readonly Case[] = [
  {
    name: 'children are found by their parent',
    async run({ store }) {
      await created(store, newRun('parent'))
      const child = (id: string, runId: string) => newRun(id, { parent: { runId, generation: 1, key: id } })
      await store.create([child('a', 'parent'), child('b', 'parent'), child('c', 'a')])
      same(await found(store, { parentId: 'parent' }), ['a', 'b'], 'two')
      same(await found(store, { parentId: 'a', statuses: ['pending'] }), ['c'], 'one')
      same(await found(store, { parentId: 'c' }), [], 'none')
    },
  },
  {
    name: 'workflow ids that begin with a text, of any characters',
    async run({ store }) {
      const ids = [
        'order-1',
        'order-2',
        'Order-3',
        'order',
        'ordeR-4',
        'o%',
        'o_',
        'ör',
        'a\u{10ffff}z',
        'a\ud7ffz',
        '😀1',
      ]
      await store.create(ids.map((workflowId, n) => newRun(`run ${n}`, { workflowId })))
      await created(store, newRun('unnamed'))
      const withPrefix = async (workflowIdPrefix: string): Promise<string[]> => {
        const { runs } = await store.list({ limit: 100, workflowIdPrefix })
        await found(store, { workflowIdPrefix })
        return runs.map(({ head }) => head.workflowId).sort()
      }
      same(await withPrefix('order'), ['order', 'order-1', 'order-2'], 'several')
      same(await withPrefix('order-'), ['order-1', 'order-2'], 'fewer')
      for (const prefix of ['o%', 'o_', 'ö', 'a\u{10ffff}', 'a\ud7ff', '😀']) {
        same((await withPrefix(prefix)).length, 1, prefix)
      }
      same((await withPrefix('')).length, ids.length, 'every workflow id, and no run without one')
    },
  },
  {
    name: 'a count stops where it is told to',
    async run({ store }) {
      await store.create(numbered('run', 12).map((id, n) => newRun(id, { name: n % 2 ? 'odd' : 'even' })))
      const count = async (query: Partial<ListQuery>) => (await store.list({ limit: 1, count: true, ...query })).count
      same(await count({ countMost: 5 }), 5, 'of more')
      same(await count({ countMost: 12 }), 12, 'of as many')
      same(await count({ countMost: 100 }), 12, 'of fewer')
      same(await count({ countMost: 4, names: ['odd'] }), 4, 'with a filter')
      same(await count({ countMost: 4, statuses: ['pending'] }), 4, 'with a status')
      same(await count({ countMost: 4, statuses: ['failed'] }), 0, 'of none')
    },
  },
]

const groups: readonly Case[] = [
  {
    name: 'O4: runs are counted by workflow, queue, status, reason and build, the largest group first',
    async run({ store }) {
      const groups = async (query: Partial<ListQuery> & Pick<ListQuery, 'groupBy'>) =>
        ((await store.list({ limit: 100, ...query })).groups ?? []).map(({ key, count }) => `${key} ${count}`)
      await openSession(store)
      for (const [id, next] of Object.entries({
        ...{ a: waits('signal:approval'), b: waits('signal:approval'), c: waits('é'), d: waits('\u{10000}') },
        ...{ e: waits(), f: paused('paused:DETERMINISM'), g: failed('failed:CardDeclined'), h: ended },
      })) {
        await apply(store, turn(await hold(store, id), { next, ...(id === 'a' && { pin: 'blue' }) }))
      }
      const others = ['i', 'j', 'k'].map((id) => newRun(id, { name: 'other', queue: id === 'i' ? 'slow' : 'fast' }))
      await store.create(others)
      const name = present((await store.list({ limit: 1, statuses: ['completed'] })).runs[0], 'the run').head.name
      same(await groups({ groupBy: 'name' }), [`${name} 8`, 'other 3'], 'by workflow')
      same(await groups({ groupBy: 'queue', names: ['other'] }), ['fast 2', 'slow 1'], 'by queue')
      const statuses = ['waiting 5', 'pending 3', 'completed 1', 'failed 1', 'paused 1']
      same(await groups({ groupBy: 'status' }), statuses, 'by status')
      same(await groups({ groupBy: 'status', limit: 2 }), statuses.slice(0, 2), 'the largest')
      same(await groups({ groupBy: 'status', statuses: ['failed', 'completed'] }), ['completed 1', 'failed 1'], 'ended')
      const waiting = ['signal:approval 2', 'é 1', '\u{10000} 1']
      same(
        await groups({ groupBy: 'reason', statuses: ['waiting'] }),
        waiting,
        'by reason, in the order of code points',
      )
      const stopped = ['failed:CardDeclined 1', 'paused:DETERMINISM 1']
      same(
        await groups({ groupBy: 'reason' }),
        [...waiting.slice(0, 1), ...stopped, ...waiting.slice(1)],
        'all reasons',
      )
      same(await groups({ groupBy: 'reason', reason: 'failed:' }), ['failed:CardDeclined 1'], 'of one kind')
      same(await groups({ groupBy: 'pin' }), ['blue 1'], 'by build')
      same(await groups({ groupBy: 'name', names: ['unknown'] }), [], 'of no runs')
    },
  },
  {
    name: 'a group says when its oldest run was created',
    async run({ store, clock }) {
      await created(store, newRun('first'))
      const { runs } = await store.list({ limit: 1 })
      await clock.advance(1_000)
      await created(store, newRun('second'))
      const [group] = (await store.list({ limit: 1, groupBy: 'status' })).groups ?? []
      same([group?.count, group?.oldest], [2, runs[0]?.head.createdAt], 'the group')
    },
  },
]

export const findingCases: readonly Case[] = [...reasons, ...others, ...groups]
