// `pawl dev --demo`: sample workflows in one process, with a gentle stream of new runs, so that there is something to
// look at.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatDuration } from '../../core/base/time.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import { consoleLogger, type Logger } from '../../core/runtime/logger.ts'
import type { Engine } from '../../index.ts'
import {
  APPROVAL_CENTS,
  approval,
  orders,
  parcels,
  reminders,
  samples,
  settlement,
  trips,
} from '../demo/sample-workflows.ts'
import { openStore, suggestedCommand } from '../options.ts'
import { paint, print } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'
import type { DevPlace } from './develop.ts'
import { listen } from './listen.ts'

const ORDER_EVERY_MS = 4_000
const APPROVED_AFTER_MS = 12_000
const STOP_MS = 2_000
const regions = ['eu', 'us', 'asia'] as const

export async function runDemo({ store: given, hasStore, ...place }: DevPlace & { hasStore: boolean }): Promise<void> {
  const { stopped } = stopSignal()
  const folder = hasStore ? undefined : mkdtempSync(join(tmpdir(), 'pawl-dev-'))
  const store = folder === undefined ? given : `sqlite:${join(folder, 'pawl.db')}`
  try {
    const engine = await openStore({ ...place, store }, { ...samples, logger: quiet })
    const worker = engine.work({ lease: '5s', signals: false })
    const [api] = await Promise.all([listen(engine, place), worker.ready])
    const stop = new AbortController()
    const traffic = keepBusy(engine, stop.signal)
    introduce(api.url, { ...place, store })
    await stopped
    print('stopping (again to stop at once)')
    stop.abort()
    await Promise.all([api.server.close({ grace: STOP_MS }), worker.drain(STOP_MS), traffic])
    await engine.close()
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
  process.exit(0)
}

function introduce(url: string, place: DevPlace): void {
  print(`pawl is ready after ${formatDuration(Math.round(process.uptime() * 100) * 10)}`)
  print(`  web UI      ${paint('bold', `${url}/`)}`)
  print(`  api         ${paint('bold', `${url}/api/v1`)}`)
  print(`  store       ${place.store}`)
  print(`  workflows   ${samples.workflows.map(({ name }) => name).join(', ')}`)
  print(`  try         ${paint('cyan', suggestedCommand(place, 'pawl runs'))}`)
  print(`              ${paint('cyan', suggestedCommand(place, 'pawl why order-1000'))}`)
  print(paint('dim', 'A new order comes every few seconds. Ctrl-C stops it.'))
}

// That runs fail and pause is the show.
const quiet: Logger = {
  log: (level, message, fields) => (level === 'error' ? consoleLogger.log(level, message, fields) : undefined),
}

/** Starts runs and approves orders until the signal aborts. */
async function keepBusy(engine: Engine, stop: AbortSignal): Promise<void> {
  await engine.schedules.set('settlement', { every: '1m', overlap: 'skip', catchUp: 'skip', workflow: settlement })
  await setTheScene(engine)
  await submitDocuments(engine)
  const first = await nextNumber(engine)
  for (let number = first; !stop.aborted; number++) {
    const cents = 1_900 + ((number * 3_571) % 18_000)
    const region = regions[number % regions.length] ?? 'eu'
    await engine.start(
      orders,
      { number, cents, region },
      { workflowId: `order-${number}`, attributes: { cents, region } },
    )
    if (number % 4 === 0) await engine.start(trips, { number }, { workflowId: `trip-${number}` })
    void approve(engine, number, cents, stop)
    await sleep(systemClock, ORDER_EVERY_MS, stop)
  }
}

// What does not come by itself: an order that nobody approves, a run that a person paused, a run that waits for weeks.
async function setTheScene(engine: Engine): Promise<void> {
  const reuse = 'returnExisting'
  const big = { number: 1_000, cents: 250_000, region: 'eu' } as const
  const attributes = { cents: big.cents, region: big.region }
  await engine.start(orders, big, { workflowId: 'order-1000', attributes, reuse })
  await engine.start(reminders, 'Ada', { workflowId: 'reminder-ada', reuse })
  const paused = await engine.start(reminders, 'Grace', { workflowId: 'reminder-grace', reuse })
  if (paused.isNew) await paused.pause('the address is being checked by phone')
}

/** A definition with two versions, and schedules that fire at night. */
async function submitDocuments(engine: Engine): Promise<void> {
  for (const document of parcels) await engine.submit(document)
  await engine.schedules.set('nightly-report', {
    ...{ cron: '30 3 * * *', timeZone: 'Europe/Berlin', workflow: settlement },
  })
  await engine.schedules.set('old-export', { cron: '0 4 1 * *', workflow: settlement, ...exportIsPaused })
}

const exportIsPaused = { paused: true, note: 'the partner is on holiday' } as const

/** In a store that is used again the numbers go on. */
async function nextNumber(engine: Engine): Promise<number> {
  return 1_001 + (await engine.count({ workflow: orders.name }))
}

async function approve(engine: Engine, number: number, cents: number, stop: AbortSignal): Promise<void> {
  if (number % 5 === 0) return
  await sleep(systemClock, cents > APPROVAL_CENTS ? APPROVED_AFTER_MS : 0, stop)
  if (stop.aborted) return
  // The order may have failed meanwhile.
  await engine
    .get({ workflowId: `order-${number}` })
    .signal(approval, { by: 'Ada' })
    .catch(() => {})
}
