// One worker process: loads a single adapter, runs its worker, and reports what its handlers did.

import type { Adapter, Hooks, Place, RunningWorker } from './adapter.ts'
import { adapterById } from './adapters/index.ts'
import { Executions } from './executions.ts'
import type { Command, Report } from './protocol.ts'
import { now, sleep } from './time.ts'
import { measureLatency } from './workloads.ts'

let adapter: Adapter | undefined
let place: Place | undefined
let worker: RunningWorker | undefined
let executions = new Executions(0, 0)
let reportStarts = false
let startedYet = false

const report = (message: Report): void => {
  process.send?.(message)
}

const hooks: Hooks = {
  started(run) {
    if (startedYet && !reportStarts) return
    const at = now()
    if (!startedYet) report({ type: 'firstStart', at })
    startedYet = true
    if (reportStarts) report({ type: 'started', run, at })
  },
  ran(run, body) {
    if (executions.add(run, body)) report({ type: 'allRan' })
  },
}

async function obey(command: Command): Promise<void> {
  switch (command.type) {
    case 'load':
      adapter = adapterById(command.adapter)
      place = command.place
      await adapter.preload?.()
      return report({ type: 'loaded' })
    case 'work':
      if (!adapter || !place) throw new Error('work before load')
      worker = await adapter.work(place, hooks)
      return report({ type: 'working' })
    case 'expect':
      executions = new Executions(command.runs, command.bodies)
      reportStarts = command.reportStarts
      startedYet = false
      return report({ type: 'expecting' })
    case 'execute': {
      if (!worker?.executor) throw new Error(`${adapter?.id} has no executor in its worker`)
      const latency = await measureLatency(command.workload, command.size, worker.executor)
      return report({ type: 'executed', latency })
    }
    case 'tally':
      return report({ type: 'tally', tally: executions.tally(command.runs) })
    case 'memory': {
      const residentMegabytes = process.memoryUsage.rss() / 2 ** 20
      return report({ type: 'memory', residentMegabytes })
    }
    case 'stop':
      await Promise.race([worker?.close(), sleep(3_000)])
      return process.exit(0)
  }
}

process.on('message', (command: Command) => {
  obey(command).catch((error: unknown) => {
    report({ type: 'failed', reason: error instanceof Error ? `${error.stack}` : String(error) })
  })
})
// Some peers leave rejections behind when they close; their work is judged by the count, not by these.
process.on('unhandledRejection', (reason) => console.error('[worker] unhandled rejection:', reason))
process.on('disconnect', () => process.exit(1))
