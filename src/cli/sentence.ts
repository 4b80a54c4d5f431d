// Why a run is not moving, as a sentence.
import type { Why } from '../client/why.ts'
import { unreachable } from '../kernel/assert.ts'
import type { Failure } from '../kernel/failure.ts'
import { clockTime, plain, plainProse, relative } from './output.ts'
import { stepName } from './step-name.ts'

export function whySentence(why: Why, now: number): string {
  return plain(sentenceOf(why, now))
}

function sentenceOf(why: Why, now: number): string {
  const when = (time: Date): string => `${clockTime(time, now)} (${relative(time, now)})`
  const atLongest = (until?: Date): string => (until ? `, at the longest until ${when(until)}` : '')
  switch (why.reason) {
    case 'ended':
      return why.failure
        ? `It has failed: ${showFailure(why.failure)}`
        : `It has ended: ${why.status}.`
    case 'pending':
      return 'It waits to be triggered.'
    case 'ready':
      return 'It is ready, and a living worker can take it: it moves at any moment.'
    case 'timer':
      return `It sleeps until ${when(why.until)}.`
    case 'signal':
      return `It waits for signal '${why.name}'${atLongest(why.until)}.`
    case 'webhook':
      return `It waits for webhook '${why.name}'${atLongest(why.until)}.`
    case 'condition':
      return `It waits for a condition of its own${atLongest(why.until)}.`
    case 'child':
      return `It waits for its child, run ${why.runId}.`
    case 'activity':
      return `Step '${stepName(why.step)}', attempt ${why.attempt}, is with ${workerOf(why.worker)}${why.until ? `, whose lease lasts until ${when(why.until)}` : ''}.`
    case 'backoff':
      return `Step '${stepName(why.step)}' failed (${showFailure(why.failure)}) and is tried again at ${when(why.until)}.`
    case 'lease':
      return `It is held by ${workerOf(why.worker)}, whose lease lasts until ${when(why.until)}.`
    case 'noWorker':
      return `It waits for a worker that has code for '${why.type}'${why.build === undefined ? '' : ` and is of build '${why.build}'`}.`
    case 'paused':
      if (why.note !== undefined) return `It was paused by hand: ${why.note}`
      return `It is paused${why.failure ? `: ${showFailure(why.failure)}` : '.'}`
    default:
      return unreachable(why)
  }
}

/** What would move it: a line each, not wrapped, because a command that is broken into lines cannot be pasted. */
export function suggestionLines({ suggestion = '' }: Why): string[] {
  return suggestion === '' ? [] : suggestion.split('\n').map(plain)
}

export function showFailure(failure: Failure): string {
  return plainProse(`${failure.type}: ${failure.message}`)
}

function workerOf(worker: string | undefined): string {
  if (worker === undefined) return 'no worker yet'
  return worker.startsWith('worker') || worker.startsWith('a ') ? worker : `worker ${worker}`
}
