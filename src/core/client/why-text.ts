// Why a run is not moving, in one sentence.
import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import { stepName } from '../deciders/requests.ts'
import { BY_HAND } from '../kernel/message.ts'
import type { Why } from './why.ts'

/** How the reader is told times and failures. */
export interface Telling {
  readonly when: (time: Date) => string
  readonly failure: (failure: Failure) => string
}

const plainly: Telling = {
  when: (time) => time.toISOString(),
  failure: ({ type, message }) => `${type}: ${message}`,
}

export function whyText(why: Why, { when, failure }: Telling = plainly): string {
  const timesOut = (until?: Date): string => (until ? `; times out at ${when(until)}` : '')
  switch (why.reason) {
    case 'ended':
      return why.failure ? `Failed: ${failure(why.failure)}` : `Ended: ${why.status}.`
    case 'pending':
      return 'Waiting to be triggered.'
    case 'ready':
      return 'Ready: a living worker can take it at any moment.'
    case 'timer':
      return `Sleeping until ${when(why.until)}.`
    case 'signal':
      return `Waiting for signal '${why.name}'${timesOut(why.until)}.`
    case 'webhook':
      return `Waiting for webhook '${why.name}'${timesOut(why.until)}.`
    case 'condition':
      return `Waiting for a condition in its code${timesOut(why.until)}.`
    case 'child':
      return `Waiting for its child, run ${why.runId}.`
    case 'activity':
      return `Step '${stepName(why.step)}', attempt ${why.attempt}, is with ${workerOf(why.worker)}${why.until ? `, whose lease lasts until ${when(why.until)}` : ''}.`
    case 'backoff':
      return `Step '${stepName(why.step)}' failed (${failure(why.failure)}); the next attempt is at ${when(why.until)}.`
    case 'completion':
      return `Waiting for step '${stepName(why.step)}' to be completed from outside${timesOut(why.until)}.`
    case 'lease':
      return `Held by ${workerOf(why.worker)}, whose lease lasts until ${when(why.until)}.`
    case 'noWorker':
      return `Waiting for a worker that has code for '${why.type}'${why.build === undefined ? '' : ` and is of build '${why.build}'`}.`
    case 'paused':
      if (why.note === BY_HAND) return 'Paused by hand.'
      if (why.note !== undefined) return `Paused by hand: ${why.note}`
      return `Paused${why.failure ? `: ${failure(why.failure)}` : '.'}`
    default:
      return unreachable(why)
  }
}

function workerOf(worker: string | undefined): string {
  if (worker === undefined) return 'no worker yet'
  return worker.startsWith('worker') || worker.startsWith('a ') ? worker : `worker ${worker}`
}
