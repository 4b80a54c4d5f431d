// How a run of a graph must end, and what it must have undone by then.

import type { Failure } from '../../src/core/base/failure.ts'
import { encode } from '../../src/core/base/value.ts'
import { parseNodeKey } from '../../src/core/deciders/graph/node-key.ts'
import type { Event } from '../../src/core/kernel/event.ts'
import { endIn, type Facts, outcomesOf, outputOf } from './graph-reference.ts'
import { Told } from './graph-standing.ts'
import type { Walked } from './graph-walk.ts'
import type { GraphSpec, StepSpec } from './random-graphs.ts'

/** What the history of a generation says that the description leaves open. */
export function factsOf(spec: GraphSpec, events: readonly Event[], heals: (step: StepSpec) => boolean): Facts {
  const named = (is: (event: Event, step: StepSpec | undefined) => boolean): Set<string> =>
    new Set(
      events.flatMap((event) => {
        const name = 'key' in event ? parseNodeKey(event.key)?.name : undefined
        const step = spec.steps.find((each) => each.name === name)
        return name !== undefined && is(event, step) ? [name] : []
      }),
    )
  const told = new Told(spec, events)
  const waits = spec.steps.filter(({ work }) => work.do === 'wait')
  const isLate = (step: StepSpec): boolean => typeof told.done.get(step.name) === 'symbol'
  return {
    heals,
    timedOut: new Set(waits.filter(isLate).map(({ name }) => name)),
    fickle: named(({ type }, step) => type === 'StepSkipped' && step?.when === 'fickle'),
    wavered: named((event, step) => isAgain(event) && isOpenToChance(step)).size > 0,
    died: named((event, step) => event.type === 'StepFailed' && isFragile(step, event.failure)),
  }
}

function isAgain(event: Event): boolean {
  return 'key' in event && (parseNodeKey(event.key)?.round ?? 1) > 1
}

function isOpenToChance(step: StepSpec | undefined): boolean {
  return step?.when === 'fickle' || step?.work.do === 'wait'
}

function isFragile(step: StepSpec | undefined, { type }: Failure): boolean {
  const end = step && 'end' in step.work ? step.work.end.how : undefined
  return (end === 'once' || end === 'fails') && type === 'WorkerDied'
}

/** A cancellation that comes while the run completes is in its history, and changes nothing. */
function withoutLateCancel(events: readonly Event[]): readonly Event[] {
  const late = events.findIndex(({ type }) => type === 'CancelRequested')
  const isLast = events.slice(late + 1).every(({ type }) => type === 'SignalReceived')
  return late >= 0 && isLast ? events.slice(0, late) : events
}

export function checkEnd({ spec, events, facts, kept }: Walked): string[] {
  const ending = events.at(-1)
  const all = events.slice(0, -1)
  const past = ending?.type === 'RunCompleted' ? withoutLateCancel(all) : all
  const told = new Told(spec, past)
  const found: string[] = []
  for (const [name, standing] of told.standing())
    if (!endIn(standing)) found.push(`D8: the run ends, and ${name} is ${standing}`)
  for (const key of told.open) found.push(`D8: the run ends, and ${key} is not cancelled`)
  found.push(...checkWaits(spec, told, facts))
  const trouble = past.slice(kept).find(isTrouble)
  if (trouble) return [...found, ...checkBadEnd(trouble, ending)]
  return [...found, ...checkGoodEnd({ spec, facts, told }, ending)]
}

function checkWaits({ steps }: GraphSpec, { done }: Told, { timedOut }: Facts): string[] {
  return steps.flatMap(({ name, work }) => {
    if (work.do !== 'wait' || !done.has(name)) return []
    if (timedOut.has(name)) return work.timeoutMs === undefined ? [`${name} was to wait`] : []
    return work.comesMs === undefined ? [`${name} has a signal that nobody sent`] : []
  })
}

function isTrouble(event: Event): boolean {
  if (event.type === 'CancelRequested' || event.type === 'StepRefused') return true
  const failed = event.type === 'StepFailed' || event.type === 'ChildFailed'
  return failed && parseNodeKey(event.key)?.kind !== 'undo'
}

function checkBadEnd(trouble: Event, ending: Event | undefined): string[] {
  if (trouble.type === 'CancelRequested')
    return ending?.type === 'RunCancelled' ? [] : [`it was cancelled, and ended as ${ending?.type}`]
  if (ending?.type !== 'RunFailed') return [`D9: it failed, and ended as ${ending?.type}`]
  const { failure } = ending
  const own = 'failure' in trouble ? trouble.failure : undefined
  const shown = trouble.type === 'StepRefused' ? failure : failure.cause
  if (shown?.message === own?.message) return []
  return [`D9: it fails with '${shown?.message}', and what failed first was '${own?.message}'`]
}

function checkGoodEnd(
  { spec, facts, told }: { spec: GraphSpec; facts: Facts; told: Told },
  ending: Event | undefined,
): string[] {
  if (facts.wavered) return ending?.type === 'RunCompleted' ? [] : ['it does not complete']
  const outcomes = outcomesOf(spec, facts)
  const standing = told.standing()
  const found: string[] = []
  for (const [name, { status }] of outcomes)
    if (standing.get(name) !== status) found.push(`step ${name} is ${standing.get(name)}, and should be ${status}`)
  if (ending?.type !== 'RunCompleted') return [...found, `nothing went wrong, and it ended as ${ending?.type}`]
  const value = JSON.stringify(encode(outputOf(spec, outcomes), 'the output'))
  if (value !== JSON.stringify(ending.value))
    found.push(`it gives ${JSON.stringify(ending.value)}, and should give ${value}`)
  return found
}

/** What an undo was given, by the key of its step. */
export interface SeenByUndo {
  readonly key: string
  readonly result: unknown
}

/** R7: what was done is undone, once, newest first; and before that what broke off and says so. */
export function checkUndoing({ spec, events, kept }: Walked, seen: readonly SeenByUndo[]): string[] {
  const began = events.findIndex(({ type }, index) => index >= kept && type === 'CompensationBegan')
  const told = new Told(spec, events.slice(0, began < 0 ? -1 : began))
  const undone = undoingsIn(events.slice(Math.max(kept, 0)))
  if (!told.failing) return undone.length > 0 ? ['R7: it undoes what it did, and all is well'] : []
  const undoOf = (name: string): StepSpec['undo'] => spec.steps.find((step) => step.name === name)?.undo
  const broken = [...told.known]
    .filter(([name, known]) =>
      known === 'failed' || known === 'stopped' ? !told.done.has(name) && undoOf(name)?.ownFailure : false,
    )
    .map(([name]) => name)
  const done = [...told.done.keys()].filter(undoOf).reverse()
  const names = undone.map(({ name }) => name)
  const first = names.slice(0, broken.length)
  const found: string[] = []
  if (first.toSorted().join() !== broken.toSorted().join())
    found.push(`R7: first to be undone are ${broken.join()}, and were ${first.join()}`)
  if (names.slice(broken.length).join() !== done.join())
    found.push(`R7: ${done.join()} are to be undone, and ${names.slice(broken.length).join()} were`)
  for (const { name, key, failed, open } of undone) {
    if (open) found.push(`R7: ${key} is not undone when the next is begun`)
    if (failed === undoOf(name)?.works) found.push(`R7: ${key} ${failed ? 'failed' : 'worked'}`)
    for (const { result } of seen.filter((each) => each.key === key))
      if (JSON.stringify(result) !== JSON.stringify(told.done.get(name)))
        found.push(`R7: ${key} was given ${JSON.stringify(result)}`)
  }
  return [...found, ...checkFailures(undone, events.at(-1))]
}

interface Undoing {
  readonly name: string
  readonly key: string
  failed: boolean
  open: boolean
  message?: string
}

function undoingsIn(events: readonly Event[]): readonly Undoing[] {
  const undone: Undoing[] = []
  for (const event of events) {
    const key = 'key' in event ? parseNodeKey(event.key) : undefined
    if (!('key' in event) || key?.kind !== 'undo') continue
    const last = undone.at(-1)
    if (event.type === 'StepStarted') undone.push({ name: key.name, key: event.key, failed: false, open: true })
    else if (last && last.key === event.key && event.type !== 'StepRetried') {
      last.open = false
      last.failed = event.type === 'StepFailed'
      if (event.type === 'StepFailed') last.message = event.failure.message
    }
  }
  return undone
}

function checkFailures(undone: readonly Undoing[], ending: Event | undefined): string[] {
  const told = ending && 'undone' in ending ? (ending.undone?.failures ?? []) : []
  const shown = told.map(({ cause }) => cause?.message)
  const failed = undone.filter((each) => each.failed).map(({ message }) => message)
  if (shown.join() === failed.join()) return []
  return [`R7: it says that '${shown.join()}' could not be undone, and it was '${failed.join()}'`]
}
