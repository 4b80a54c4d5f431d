// Judges a crash test from three independent accounts: what the client was promised, what the store says, and what
// the ledgers say really happened. Each check answers with the violations it found.

import { decode } from '../../src/core/base/value.ts'
import type { Event } from '../../src/core/kernel/event.ts'
import { isEnding } from '../../src/core/kernel/event.ts'
import { isRight, type Made, napMs, type Sum } from './definitions.ts'
import type { Begun, LedgerLine, Recorded } from './ledger.ts'

export interface CheckedTurn {
  readonly seq: number
  readonly count: number
  readonly turnId: number
  readonly epoch: number
  readonly events: readonly Event[]
}

export interface CheckedRun {
  readonly runId: string
  readonly name: string
  readonly status: string
  readonly output?: unknown
  readonly turns: readonly CheckedTurn[]
}

export interface Evidence {
  /** What each acknowledged run was started with. */
  readonly started: ReadonlyMap<string, number>
  /** Message ids of acknowledged signals by run. */
  readonly signals: ReadonlyMap<string, readonly string[]>
  readonly runs: ReadonlyMap<string, CheckedRun>
  readonly ledger: readonly LedgerLine[]
  /** When processes that had been stopped went on, on the clock of the ledger. */
  readonly resumed?: readonly { readonly pid: number; readonly order: number }[]
}

export function checkAll(evidence: Evidence): string[] {
  return [
    ...checkNothingLost(evidence),
    ...checkSignals(evidence),
    ...[...evidence.runs.values()].flatMap((run) => [
      ...checkTurns(run),
      ...checkEvents(run),
      ...checkAgreement(run),
      ...checkChildren(run, evidence),
    ]),
    ...checkExecutions(evidence),
  ]
}

/** INV1: what was acknowledged is there, has come to its end, and to the right one. */
export function checkNothingLost({ started, runs }: Evidence): string[] {
  return [...started].flatMap(([runId, n]) => {
    const run = runs.get(runId)
    if (!run) return [`INV1: acknowledged run ${runId} is not in the store`]
    if (run.status !== 'completed') return [`INV1: run ${runId} (${run.name}) is ${run.status}`]
    if (isRight(run.name, n, run.output as Sum)) return []
    return [`INV1: run ${runId} (${run.name}) of ${n} ended with ${JSON.stringify(run.output)}`]
  })
}

/** INV7: an acknowledged signal is in the history once. */
export function checkSignals({ signals, runs }: Evidence): string[] {
  return [...signals].flatMap(([runId, ids]) => {
    const run = runs.get(runId)
    const seen = run ? eventsOf(run).flatMap((e) => (e.type === 'SignalReceived' ? [e.id] : [])) : []
    return ids.flatMap((id) => {
      const times = seen.filter((each) => each === id).length
      return times === 1 ? [] : [`INV7: signal ${id} is ${times} times in the history of ${runId}`]
    })
  })
}

/** INV3, INV5: turns follow each other without gaps, each once, and never one of an older lease after a newer. */
export function checkTurns(run: CheckedRun): string[] {
  const found: string[] = []
  const ids = new Set<number>()
  let seq = 0
  let epoch = 0
  for (const turn of run.turns) {
    if (turn.seq !== seq) found.push(`INV3: a turn of ${run.runId} begins at ${turn.seq}, expected ${seq}`)
    if (turn.count !== turn.events.length)
      found.push(`INV3: a turn of ${run.runId} says ${turn.count}, has ${turn.events.length} events`)
    if (ids.has(turn.turnId)) found.push(`INV3: turn ${turn.turnId} of ${run.runId} is there twice`)
    if (turn.epoch < epoch) found.push(`INV5: epoch ${turn.epoch} of ${run.runId} wrote after epoch ${epoch}`)
    ids.add(turn.turnId)
    seq = turn.seq + turn.count
    epoch = Math.max(epoch, turn.epoch)
  }
  return found
}

/** INV2, INV8, INV12: one result for a step, no timer early, one end and nothing after it. */
export function checkEvents(run: CheckedRun): string[] {
  const found: string[] = []
  const completed = new Set<string>()
  const due = new Map<string, number>()
  const events = eventsOf(run)
  for (const [index, event] of events.entries()) {
    if (isEnding(event) && index < events.length - 1) found.push(`INV12: ${run.runId} goes on after ${event.type}`)
    if (event.type === 'StepCompleted') {
      if (completed.has(event.key)) found.push(`INV2: ${run.runId} has two results of ${event.key}`)
      completed.add(event.key)
    }
    if ('until' in event && event.until !== undefined) due.set(event.key, event.until)
    if (event.type === 'TimerFired' && event.at < (due.get(event.key) ?? 0))
      found.push(`INV8: ${event.key} of ${run.runId} fired early`)
  }
  return found
}

/** How long it may take a worker to hear that the clock was set. */
const heardMicroseconds = 3_000_000

/** A worker knows the time of the store to within what an answer takes to be read, on a machine that is busy. */
const inexactMs = 100

/**
 * INV8: who slept, slept as long as it asked for, unless the clock was set forward meanwhile. What counts is the attempt
 * that was recorded: a process that was stopped may leave the body of an earlier one long after.
 */
export function checkNaps(
  { ledger, runs }: Pick<Evidence, 'ledger' | 'runs'>,
  setForward: readonly number[],
): string[] {
  const before = new Map<string, number>()
  for (const line of ledger) {
    if (line.type !== 'left' || line.key !== 'step:asleep#1') continue
    if (line.attempt === recordedAttempt(runs.get(line.runId), line.key)) before.set(line.runId, line.order)
  }
  return ledger.flatMap((line) => {
    if (line.type !== 'begun' || line.key !== 'step:awake#1') return []
    const from = before.get(line.runId) ?? line.order - napMs * 1_000
    if (setForward.some((order) => order > from - heardMicroseconds && order <= line.order)) return []
    const slept = (line.order - from) / 1_000
    return slept < napMs - inexactMs ? [`INV8: ${line.runId} slept ${slept} ms, and not ${napMs}`] : []
  })
}

function recordedAttempt(run: CheckedRun | undefined, key: string): number | undefined {
  const events = run ? eventsOf(run) : []
  const done = events.find((event) => event.type === 'StepCompleted' && event.key === key)
  return done?.type === 'StepCompleted' ? done.attempt : undefined
}

/** INV4: what a run gave is what its history says that its steps gave. */
export function checkAgreement(run: CheckedRun): string[] {
  const { tokens } = (run.output ?? {}) as Partial<Sum>
  if (!tokens) return []
  const recorded = eventsOf(run).flatMap((event) =>
    event.type === 'StepCompleted' ? [(decode(event.value) as Made).token] : [],
  )
  if (recorded.join() === tokens.join()) return []
  return [`INV4: ${run.runId} gave ${tokens.join()}, and its history has ${recorded.join()}`]
}

/** INV10: every child a history names is there, and has ended. */
export function checkChildren(run: CheckedRun, { runs }: Pick<Evidence, 'runs'>): string[] {
  return eventsOf(run).flatMap((event) => {
    if (event.type !== 'ChildStarted') return []
    const status = runs.get(event.child)?.status ?? 'not in the store'
    return status === 'completed' ? [] : [`INV10: child ${event.child} of ${run.runId} is ${status}`]
  })
}

/** INV2, INV14: no body begins after its result was durable, or more often than its policy allows. */
export function checkExecutions({ ledger, runs, resumed = [] }: Evidence): string[] {
  const durable = durableBefore(ledger)
  const excuse = excuses(resumed)
  const times = new Map<string, number>()
  const begun = ledger.filter((line) => line.type === 'begun')
  const found = begun.flatMap((line) => {
    const id = idOf(line)
    const count = (times.get(id) ?? 0) + 1
    times.set(id, count)
    const late = line.order - (durable.get(id) ?? Number.POSITIVE_INFINITY)
    return [
      ...(late > 0 && !excuse(line)
        ? [`INV2: ${id} began again in ${line.pid} ${late} µs after its result was durable`]
        : []),
      ...(count > line.maxAttempts ? [`INV14: ${id} began ${count} times; its policy allows ${line.maxAttempts}`] : []),
      ...(line.attempt > line.maxAttempts
        ? [`INV14: ${id} was called attempt ${line.attempt} of ${line.maxAttempts}`]
        : []),
      ...(runs.has(line.runId) ? [] : [`INV1: ${id} was run, but the store has no such run`]),
    ]
  })
  return [...found, ...checkResults(runs, begun)]
}

// A process can be stopped between its last look at the clock and the first line of a body; nothing in it can close
// that gap. So one body is excused each time a process goes on, if it begins at once; a second one is not.
function excuses(resumed: NonNullable<Evidence['resumed']>): (line: Begun) => boolean {
  const left = new Set(resumed)
  return (line) => {
    for (const each of left) {
      const after = line.order - each.order
      if (each.pid !== line.pid || after < 0 || after > atOnceMicroseconds) continue
      left.delete(each)
      return true
    }
    return false
  }
}

const atOnceMicroseconds = 20_000

/** No result comes from nowhere: a recorded one was made by the attempt it names. */
function checkResults(runs: Evidence['runs'], begun: readonly Begun[]): string[] {
  const made = new Set(begun.map((line) => `${idOf(line)} ${line.attempt}`))
  return [...runs.values()].flatMap((run) =>
    eventsOf(run).flatMap((event) => {
      if (event.type !== 'StepCompleted') return []
      const id = `${run.runId} ${event.key} ${event.attempt}`
      return made.has(id) ? [] : [`INV2: a result is recorded for ${id}, which no worker began`]
    }),
  )
}

// The result of a step was durable before its worker heard so, and before any step began that rests on it.
function durableBefore(ledger: readonly LedgerLine[]): Map<string, number> {
  const durable = new Map<string, number>()
  const note = (id: string, order: number): void => {
    durable.set(id, Math.min(order, durable.get(id) ?? Number.POSITIVE_INFINITY))
  }
  for (const line of ledger) {
    if (line.type === 'recorded') note(idOf(line), line.order)
    if (line.type !== 'begun') continue
    for (const key of line.after) note(`${line.runId} ${key}`, line.order)
  }
  return durable
}

/** Bodies that began and whose own end nobody recorded: a kill or a lost lease came between. */
export function countInterrupted({ ledger, runs }: Evidence): number {
  const begun = ledger.filter((line) => line.type === 'begun').length
  const ended = [...runs.values()].reduce((sum, run) => sum + eventsOf(run).filter(isEndOfBody).length, 0)
  return begun - ended
}

// That a worker died is recorded by its successor, and is no end that a body came to.
function isEndOfBody(event: Event): boolean {
  if (event.type === 'StepCompleted') return true
  if (event.type !== 'StepFailed' && event.type !== 'StepRetried') return false
  return event.failure.type !== 'WorkerDied'
}

export function eventsOf(run: CheckedRun): Event[] {
  return run.turns.flatMap((turn) => turn.events)
}

function idOf(line: Begun | Recorded): string {
  return `${line.runId} ${line.key}`
}
