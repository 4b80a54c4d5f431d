// A worker in a process of its own: `node worker-process.ts <what it is to do, as JSON>`. Says when it is ready, and works
// until it is killed or its parent is gone.
import { open, type WorkerOptions } from '../../src/index.ts'
import { chain, diamond, type Place } from './shared-graphs.ts'

export interface Duty extends Place {
  readonly url: string
  /** One for the bodies of each kind of step. */
  readonly stepQueues?: { readonly b: string; readonly c: string }
  readonly work: WorkerOptions
}

const duty = JSON.parse(process.argv[2] ?? '') as Duty

process.on('disconnect', () => process.exit(0))
const workflows = [chain(duty), diamond(duty, duty.stepQueues)]
const engine = await open(duty.url, { workflows, build: 'same' })
const worker = engine.work({ id: duty.process, signals: false, ...duty.work })
await worker.ready
process.send?.('ready')
