// Sixteen processes that all hold the lease of one run, or believe so, write at the same moment.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import type { Lease, Store } from '../../src/core/stores/store.ts'
import { openStore } from '../../src/stores/open.ts'
import { radosgwStartMsMax, sharedRadosgw } from '../support/radosgw.ts'
import { reachable } from './kill.ts'
import type { Answer, Go } from './racer.ts'

const RACERS = 16
const ROUNDS = 12
const runId = '01890000-0000-7000-8000-000000000001'
const folder = mkdtempSync(join(tmpdir(), 'pawl-race-'))

const places = {
  sqlite: async () => `sqlite:${join(folder, 'race.db')}`,
  file: async () => `file:${join(folder, 'objects')}`,
  radosgw: async () => reachable(await sharedRadosgw(inject('radosgwDoor'))),
} as const

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function leaseOf(store: Store): Promise<Lease> {
  const session = 7
  const life = { beat: 1, ttlMs: 600_000, tasks: [], about: '{}' }
  await store.renew({ session, worker: 'race', ...life })
  const eager = { session, nonce: 8 }
  const names = { name: 'race', queue: 'default', priority: 0, workflowId: runId }
  const input = { input: '{"json":1}', digest: 'd', reuse: 'allow' } as const
  const [created] = await store.create([{ runId, ...names, ...input, eager }])
  if (created?.outcome !== 'created' || !created.run) throw new Error('no lease')
  return created.run.lease
}

async function started(url: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'racer.ts'), [url])
  await once(child, 'message')
  return child
}

async function written(racer: ChildProcess, go: Go): Promise<Answer> {
  racer.send(go)
  const [answer] = (await once(racer, 'message')) as [Answer]
  return answer
}

describe.each(Object.entries(places))('on %s', (_, place) => {
  test(`INV5, P15: of ${RACERS} processes one wins each of ${ROUNDS} commits`, {
    timeout: 120_000 + radosgwStartMsMax,
  }, async () => {
    const url = await place()
    const store = await openStore(url, systemClock)
    const lease = await leaseOf(store)
    const racers = await Promise.all(Array.from({ length: RACERS }, () => started(url)))
    try {
      const winners: number[] = []
      for (let seq = 0; seq < ROUNDS; seq++) {
        const answers = await Promise.all(racers.map((racer) => written(racer, { runId, lease, seq })))
        const won = answers.filter(({ outcome }) => outcome === 'applied')
        expect(won.length, JSON.stringify(answers)).toBe(1)
        expect(answers.filter(({ outcome }) => outcome === 'fenced').length).toBe(RACERS - 1)
        winners.push(won[0]?.turnId ?? 0)
      }
      const [history] = await store.load([{ type: 'history', runId, after: 0, turns: 100 }])
      const turns = history?.type === 'history' ? history.turns : []
      expect(turns.map(({ seq, turnId }) => [seq, turnId])).toEqual(winners.map((turnId, seq) => [seq, turnId]))
    } finally {
      for (const racer of racers) racer.disconnect()
      await store.close()
    }
  })
})
