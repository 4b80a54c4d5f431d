// A real Postgres primary and its standby, promoted while workers work: one that has everything, and one that has lost
// the last writes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type Engine, open, type Status, workflow } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { PostgresCluster } from '../support/postgres-cluster.ts'
import * as check from './check.ts'
import { CrashClient } from './client.ts'
import { readRuns } from './evidence.ts'
import { Fleet } from './fleet.ts'
import { killCommand } from './kill-command.ts'
import { describeReport } from './kill-workers.ts'
import { readLedgers } from './ledger.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const unended: readonly Status[] = ['pending', 'running', 'waiting', 'compensating', 'paused']
const settleMsMax = 60_000
const runs = 150

vi.setConfig({ maxConcurrency: 2 })

describe.concurrent('a fail-over of Postgres', () => {
  test('a synchronous standby is promoted: nothing acknowledged is lost', {
    timeout: 180_000,
  }, async () => {
    console.log(`failover: seed ${seed}`)
    const blows = { kills: 2, stops: 0, failovers: 2 }
    const pace = { runs, workers: 3, 'pause-ms': 1_500, 'settle-ms-max': settleMsMax }
    const report = await killCommand({ store: 'postgres', seed, ...blows, ...pace })
    expect(report.violations, describeReport(report)).toEqual([])
    expect(report.failovers).toBe(2)
    expect(report.succeeded, describeReport(report)).toBe(report.operations)
  })

  test('stores D3, D7: a standby that lost the last writes is promoted: what it has is right', {
    timeout: 180_000,
  }, async () => {
    const cluster = await PostgresCluster.start(false)
    const folder = await mkdtemp(join(tmpdir(), 'pawl-failover-'))
    const fleet = new Fleet({ store: cluster.url, folder, leaseMs: 1_500, stepMsMax: 80 })
    const engine = await open(cluster.url)
    try {
      for (const queues of ['default', 'default,other', 'default']) fleet.start(queues)
      while (fleet.ready.length < 3) await sleep(20)
      const client = new CrashClient(engine, new SeededRandom(seed))
      let wanted = runs
      let over = false
      const work = client.work(
        () => wanted,
        () => over && client.started.size >= wanted,
      )
      while (client.started.size < runs) await sleep(20)
      while ((await engine.count({ status: 'completed' })) < runs / 10) await sleep(20)
      const safe = { started: new Map(client.started), signals: new Map(client.signals) }
      await cluster.caughtUp()
      cluster.holdReplication()
      // From here on everything is lost: starts, signals, claims, turns, and the first use of a name.
      wanted = runs * 2
      while (client.started.size < wanted) await sleep(20)
      await engine.start(workflow.declare<void, void>('unheard-of'))
      const survived = new Set<string>()
      await cluster.failOver(async (url) => {
        for (const id of await recordedSteps(url, client.started.keys())) survived.add(id)
      })
      const promoted = Number(process.hrtime.bigint() / 1_000n)
      const misnamed = await startByNewNames(cluster.url, engine)
      wanted = runs * 3
      over = true
      await work
      await settled(engine)
      fleet.check()
      await fleet.end()
      const found = await readRuns(cluster.url, client.started.keys())
      const kept = [...client.started].filter(([id]) => found.has(id) || safe.started.has(id))
      const evidence = { ...safe, started: new Map(kept), runs: found, ledger: [] }
      const violations = [
        ...misnamed,
        ...check.checkNothingLost(evidence),
        ...check.checkSignals(evidence),
        ...[...found.values()].flatMap((run) => [
          ...check.checkTurns(run),
          ...check.checkEvents(run),
          ...check.checkAgreement(run),
          ...check.checkChildren(run, evidence),
        ]),
        ...readLedgers(folder).flatMap((line) =>
          line.type === 'begun' && line.order > promoted && survived.has(`${line.runId} ${line.key}`)
            ? [`INV2: ${line.runId} ${line.key} ran again, and its result had survived`]
            : [],
        ),
      ]
      expect(violations, `seed ${seed}`).toEqual([])
      // A fail-over that loses nothing proves nothing.
      expect(found.size, `seed ${seed}`).toBeLessThan(client.started.size)
      expect(survived.size).toBeGreaterThan(0)
    } finally {
      await fleet.end()
      await engine.close()
      await cluster.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

/** Steps with a recorded result, by run and key. */
async function recordedSteps(url: string, runIds: Iterable<string>): Promise<readonly string[]> {
  const found = await readRuns(url, runIds)
  return [...found.values()].flatMap((run) =>
    check.eventsOf(run).flatMap((event) => (event.type === 'StepCompleted' ? [`${run.runId} ${event.key}`] : [])),
  )
}

// The number of the name that was lost may have been given to another one since.
async function startByNewNames(url: string, engine: Engine): Promise<string[]> {
  const names = ['something-else', 'unheard-of'] as const
  const second = await open(url, {
    workflows: names.map((name) => workflow(name, async () => name)),
  })
  try {
    const other = await second.start(workflow.declare<void, string>('something-else'))
    const lost = await engine.start(workflow.declare<void, string>('unheard-of'))
    second.work({ signals: false })
    const results = await Promise.all([other, lost].map((run) => run.result().catch(String)))
    return results.flatMap((result, n) => (result === names[n] ? [] : [`D7: a run of '${names[n]}' gave: ${result}`]))
  } finally {
    await second.close()
  }
}

async function settled(engine: Engine): Promise<void> {
  const deadline = performance.now() + settleMsMax
  while (performance.now() < deadline && (await engine.count({ status: unended })) > 0) await sleep(100)
}
