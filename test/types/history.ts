// Checked by the compiler and never run: events of a history are told apart by their type, all of them and no others.
import type { AttributesChange, Failure, HistoryEvent, RunHandle } from 'pawl'
import type { Event } from '../../src/core/kernel/event.ts'
import { type Equal, same } from './support.ts'

// What the kernel writes is described, and nothing else is.
same<Equal<HistoryEvent['type'], Event['type'] | 'RunStarted'>>(true)

export async function positives(run: RunHandle<unknown>): Promise<void> {
  for await (const event of run.history()) {
    same<Equal<typeof event.at, Date>>(true)
    same<Equal<typeof event.seq, number>>(true)
    same<Equal<typeof event.step, string | undefined>>(true)
    if (event.type === 'StepCompleted') {
      same<Equal<typeof event.step, string>>(true)
      same<Equal<typeof event.attempt, number>>(true)
      same<Equal<typeof event.result, unknown>>(true)
    }
    if (event.type === 'RunFailed') same<Equal<typeof event.failure, Failure>>(true)
    if (event.type === 'AttributesSet') same<Equal<typeof event.attributes, AttributesChange>>(true)
  }
}

type Started = Extract<HistoryEvent, { type: `${string}Started` }>

export function subject(event: Started): string {
  switch (event.type) {
    case 'RunStarted':
    case 'StepStarted':
    case 'WaitStarted':
    case 'ChildStarted':
      return event.name
    case 'TimerStarted':
      return event.until.toISOString()
    default:
      return never(event)
  }
}

// ── what must not compile ──

export function forgetful(event: Started): string {
  switch (event.type) {
    case 'RunStarted':
    case 'StepStarted':
    case 'WaitStarted':
    case 'ChildStarted':
      return event.name
    default:
      // @ts-expect-error timers are forgotten
      return never(event)
  }
}

export function mistaken(event: HistoryEvent): void {
  // @ts-expect-error no such event
  if (event.type === 'StepEnded') throw new Error()
  // @ts-expect-error only some events have it
  event.failure.toString()
  // @ts-expect-error what only replay needs is not told
  if (event.type === 'StepStarted') event.digest.toString()
}

declare function never(event: never): never
