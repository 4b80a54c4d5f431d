// Checks the invariants of a simulation against the rows in the store and the ledger. Each check returns the violations
// it found.

import { deciderOf } from '../core/deciders/decider.ts'
import type { AnyActivity } from '../core/definitions/activity.ts'
import { Registry } from '../core/definitions/registry.ts'
import type { AnyWorkflow } from '../core/definitions/workflow.ts'
import { changedAttributes, type StoredAttributes } from '../core/kernel/attributes.ts'
import { decodeTurn } from '../core/kernel/codec.ts'
import type { Decider } from '../core/kernel/decider.ts'
import { type Event, type HistoryEvent, isEnding } from '../core/kernel/event.ts'
import { RunState } from '../core/kernel/run.ts'
import { headOf as headNow, type RunRow, turnsOf as turnsOfRun } from '../core/stores/rules/row.ts'
import type { Tables } from '../core/stores/rules/tables.ts'
import type { StoredTurn } from '../core/stores/store.ts'
import { NEVER } from '../core/stores/values.ts'
import { headOf, headSince } from '../core/worker/history.ts'
import { inGeneration, type Ledger } from './ledger.ts'

/** What was acknowledged to the client. */
export interface Acknowledged {
  readonly runs: ReadonlySet<string>
  /** Message ids of signals by run. */
  readonly signals: ReadonlyMap<string, readonly string[]>
}

export function checkAll(tables: Tables, ledger: Ledger, acknowledged: Acknowledged): string[] {
  return [
    ...ledger.violations,
    ...checkNothingLost(tables, acknowledged),
    ...checkHistories(tables, ledger),
    ...checkSignals(tables, acknowledged),
    ...checkOrder(tables, ledger),
    ...checkTimers(tables),
    ...checkExecutions(ledger),
    ...checkChildren(tables),
    ...checkNoWedge(tables),
    ...checkAttributes(tables),
  ]
}

/** INV1: every acknowledged run is in the store, and has ended after the faults stopped. */
export function checkNothingLost(tables: Tables, { runs }: Acknowledged): string[] {
  return [...runs].flatMap((runId) => {
    const row = tables.run(runId)
    if (!row) return [`INV1: acknowledged run ${runId} is not in the store`]
    return row.endedAt === undefined ? [`INV1: run ${runId} is ${row.status} and never ended`] : []
  })
}

/** INV3: a history has no gaps, equals the turns as written, and is valid for the kernel. */
export function checkHistories(tables: Tables, ledger: Ledger): string[] {
  return rowsOf(tables).flatMap((row) => {
    const { runId } = row.head
    const events = eventsOf(tables, row)
    const turns = turnsOf(tables, row)
    const found: string[] = []
    const seqs = turns.map((turn) => turn.seq)
    const expected = turns.map((_, n) => turns.slice(0, n).reduce((sum, turn) => sum + turn.count, 0))
    if (seqs.join() !== expected.join()) found.push(`INV3: the turns of ${runId} have gaps: ${seqs.join()}`)
    const written = ledger.history(runId, row.generation)
    if (written.join('\n') !== events.map((event) => JSON.stringify(event)).join('\n')) {
      found.push(`INV3: the history of ${runId} is not what was written`)
    }
    const problem: unknown[] = []
    if (!foldOf(events, (error) => problem.push(error)))
      found.push(`INV3: the history of ${runId} could not have happened: ${String(problem[0])}`)
    return found
  })
}

/** Returns the state after a history; undefined if the kernel rejects the history. */
function foldOf(events: readonly Event[], onError: (error: unknown) => void = () => {}): RunState | undefined {
  try {
    return RunState.of(events)
  } catch (error) {
    onError(error)
    return undefined
  }
}

/** INV7: an acknowledged signal is in the history once. */
export function checkSignals(tables: Tables, { signals }: Acknowledged): string[] {
  return [...signals].flatMap(([runId, ids]) => {
    const row = tables.run(runId)
    const received = row ? eventsOf(tables, row).flatMap((e) => (e.type === 'SignalReceived' ? [e.id] : [])) : []
    return ids.flatMap((id) => {
      const times = received.filter((each) => each === id).length
      return times === 1 ? [] : [`INV7: signal ${id} is ${times} times in the history of ${runId}`]
    })
  })
}

/** S2: a run sees its signals in the order the store accepted them. */
export function checkOrder(tables: Tables, ledger: Ledger): string[] {
  return [...ledger.accepted].flatMap(([runId, order]) => {
    const row = tables.run(runId)
    const seen = row ? eventsOf(tables, row).flatMap((e) => (e.type === 'SignalReceived' ? [e.id] : [])) : []
    const places = seen.map((id) => order.indexOf(id))
    const sorted = places.every((place, n) => n === 0 || place > (places[n - 1] ?? -1))
    return sorted ? [] : [`S2: ${runId} saw its signals out of order`]
  })
}

/** INV8: no timer fires before its time, and none twice (the kernel rejects that). */
export function checkTimers(tables: Tables): string[] {
  return rowsOf(tables).flatMap((row) => {
    const until = new Map<string, number>()
    return eventsOf(tables, row).flatMap((event) => {
      if ((event.type === 'TimerStarted' || event.type === 'WaitStarted') && event.until !== undefined) {
        until.set(event.key, event.until)
      }
      if (event.type !== 'TimerFired') return []
      const early = (until.get(event.key) ?? 0) - event.at
      return early > 0 ? [`INV8: ${event.key} of ${row.head.runId} fired ${early} ms early`] : []
    })
  })
}

/** INV2, INV6, INV14: no body runs again after its result is durable, on a dead lease, or too often. */
export function checkExecutions(ledger: Ledger): string[] {
  const counts = new Map<string, number>()
  const attempts = new Map<string, number>()
  return ledger.executions.flatMap((execution) => {
    const { runId, generation = 1, key, process, order } = execution
    const { attempt, maxAttempts, sessionAlive, isOlder } = execution
    const id = `${inGeneration(runId, generation)} ${key}`
    const found: string[] = []
    const durable = ledger.durable.get(id)
    if (durable !== undefined && order > durable && !isOlder)
      found.push(`INV2: ${id} ran again in ${process} after its result was durable`)
    if (!sessionAlive) found.push(`INV6: ${process} began ${id} after its lease had ended`)
    const times = (counts.get(id) ?? 0) + 1
    counts.set(id, times)
    // Attempts that a fail-over has lost are repeated.
    if (times > maxAttempts && ledger.failOvers === 0)
      found.push(`INV14: ${id} ran ${times} times; its policy allows ${maxAttempts}`)
    const before = attempts.get(id) ?? 0
    attempts.set(id, attempt)
    if (attempt <= before && ledger.failOvers === 0)
      found.push(`INV14: ${id} was called attempt ${attempt} after attempt ${before}`)
    if (attempt > maxAttempts) found.push(`INV14: ${id} was called attempt ${attempt} of ${maxAttempts}`)
    return found
  })
}

/** INV10: every child in a history exists, and its parent received its result. */
export function checkChildren(tables: Tables): string[] {
  return rowsOf(tables).flatMap((row) =>
    eventsOf(tables, row).flatMap((event) => {
      if (event.type !== 'ChildStarted') return []
      const child = tables.run(event.child)
      if (!child && isCancelled(tables, row, event.key)) return []
      if (!child) return [`INV10: child ${event.child} of ${row.head.runId} was never created`]
      const told = eventsOf(tables, row).find(
        (each) => 'key' in each && each.key === event.key && each.type !== 'ChildStarted',
      )
      if (!told || told.type !== 'ChildCompleted') return []
      const ending = eventsOf(tables, child).at(-1)
      const same = ending?.type === 'RunCompleted' && JSON.stringify(ending.value) === JSON.stringify(told.value)
      return same ? [] : [`INV10: ${row.head.runId} received another result than child ${event.child} had`]
    }),
  )
}

/** True if the child was cancelled in the turn that requested it, and so never created. */
function isCancelled(tables: Tables, row: RunRow, key: string): boolean {
  return eventsOf(tables, row).some((event) => event.type === 'CalledOff' && event.keys.includes(key))
}

/** INV13: every run that has not ended is due, held, paused, or waits for something that can still happen. */
export function checkNoWedge(tables: Tables): string[] {
  return rowsOf(tables).flatMap((row) => {
    if (row.endedAt !== undefined || row.session !== 0 || row.paused || row.at < NEVER) return []
    const open = [...(foldOf(eventsOf(tables, row))?.open.values() ?? [])]
    const hopeful = open.some((each) => {
      if (each.type === 'wait') return true
      if (each.type === 'child') return tables.run(each.child)?.endedAt === undefined
      return each.type === 'step' && each.queued
    })
    return hopeful ? [] : [`INV13: run ${row.head.runId} is ${row.status} and nothing can wake it`]
  })
}

/** O2: a run has the attributes of its start, with the changes in its history. */
export function checkAttributes(tables: Tables): string[] {
  return rowsOf(tables).flatMap((row) => {
    const events = eventsOf(tables, row).map((event, index) => ({ ...event, seq: index + 1 }))
    const { attributes = {} } = headSince(headOf({ head: headNow(row) }), events).extras
    const state = foldOf(events)
    // INV3 reports an invalid history.
    if (!state) return []
    const expected = sorted(changedAttributes(attributes, state.changes ?? {}))
    const found = sorted(row.attributes ?? {})
    return found === expected
      ? []
      : [`O2: run ${row.head.runId} has attributes ${found}, but its history says ${expected}`]
  })
}

function sorted(attributes: StoredAttributes): string {
  return JSON.stringify(Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** INV4: replaying the code over the whole history leads to the same end. */
export async function checkReplay(
  tables: Tables,
  definitions: { workflows: readonly AnyWorkflow[]; activities: readonly AnyActivity[] },
): Promise<string[]> {
  const registry = new Registry(definitions.workflows, definitions.activities)
  const { workflows } = registry
  const found: string[] = []
  for (const row of rowsOf(tables)) {
    const workflow = workflows.get(row.head.name)
    const events = eventsOf(tables, row).map((event, index) => ({ ...event, seq: index + 1 }))
    const ending = events.at(-1)
    if (!workflow || !ending || !isEnding(ending)) continue
    const text = await endOfReplay(deciderOf(workflow, registry), row, events).catch(String)
    const recorded = JSON.stringify('value' in ending ? ending.value : ending.type)
    if (text !== recorded) found.push(`INV4: ${row.head.runId} replays to ${text}, recorded ${recorded}`)
  }
  return found
}

async function endOfReplay(decider: Decider, row: RunRow, events: readonly HistoryEvent[]): Promise<string> {
  const head = headSince(headOf({ head: headNow(row) }), events)
  const world = { breathe: async () => {}, secret: () => '' }
  const execution = decider.open(head, world)
  // A machine resumes from its last StateMoved, and would not run its code at all.
  const told = events.filter((event) => event.type !== 'StateMoved' && !isEnding(event))
  const commands = await execution.advance(told, events.at(-1)?.at ?? 0, events.length)
  execution.dispose()
  const last = commands.at(-1)
  switch (last?.type) {
    case 'CompleteRun':
      return JSON.stringify(last.value)
    case 'FailRun':
      return '"RunFailed"'
    case 'CancelRun':
      return '"RunCancelled"'
    default:
      return JSON.stringify(commands)
  }
}

function rowsOf(tables: Tables): RunRow[] {
  return [...tables.live.values(), ...tables.ended.values()]
}

/** The turns of the newest generation. */
function turnsOf(tables: Tables, row: RunRow): readonly StoredTurn[] {
  return turnsOfRun(tables.turns.get(row.head.runId) ?? [], row.generation)
}

export function eventsOf(tables: Tables, row: RunRow): Event[] {
  return turnsOf(tables, row).flatMap((turn) => decodeTurn(turn.body).events)
}
