// Walks through the history of a graph, event by event, and says what could not have happened.

import { decode } from '../../src/core/base/value.ts'
import { type NodeKey, parseNodeKey } from '../../src/core/deciders/graph/node-key.ts'
import type { Event } from '../../src/core/kernel/event.ts'
import { endIn, type Facts, holds, isDoomed, itemsOf, valueOf, verdictOf } from './graph-reference.ts'
import { Told } from './graph-standing.ts'
import type { GraphSpec, StepSpec } from './random-graphs.ts'

/** A generation of a run, and what it was to do. */
export interface Walked {
  readonly spec: GraphSpec
  readonly events: readonly Event[]
  /** So many of them are kept from the generation before, and were looked at then. */
  readonly kept: number
  readonly facts: Facts
}

type Keyed = Extract<Event, { key: string }>

const BEGINS: ReadonlySet<string> = new Set([
  'TimerStarted',
  'StepStarted',
  'ChildStarted',
  'WaitStarted',
  'ListTaken',
  'StepSkipped',
  'StepRefused',
])

export function walk(walked: Walked): string[] {
  const found = walked.events.flatMap((event, index) => {
    const key = 'key' in event ? parseNodeKey(event.key) : undefined
    if (index < walked.kept || !key || !('key' in event) || key.kind === 'undo') return []
    const step = walked.spec.steps.find(({ name }) => name === key.name)
    if (!step) return [`a step '${key.name}' that there is none of`]
    const told = new Told(walked.spec, walked.events.slice(0, index))
    return new Look(walked, step, key, told).at(event)
  })
  return [...found, ...checkOnce(walked.events)]
}

/** Neither a beginning nor an end. */
const ASIDE: ReadonlySet<string> = new Set(['StepRetried', 'StepBegun', 'StepQueued'])

/** D6: nothing is begun twice or has two ends, whichever worker died and however often it was said. */
function checkOnce(events: readonly Event[]): string[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (!('key' in event) || ASIDE.has(event.type)) return []
    const ends = event.type.endsWith('Completed') || event.type.endsWith('Failed')
    const what = `${ends ? 'the end' : event.type} of ${event.key}`
    if (seen.has(what)) return [`D6: ${what} is recorded twice`]
    seen.add(what)
    return []
  })
}

/** One event of one step, and how things stood before it. */
class Look {
  readonly #walked: Walked
  readonly #step: StepSpec
  readonly #key: NodeKey
  readonly #told: Told

  constructor(walked: Walked, step: StepSpec, key: NodeKey, told: Told) {
    this.#walked = walked
    this.#step = step
    this.#key = key
    this.#told = told
  }

  at(event: Keyed): string[] {
    const found = BEGINS.has(event.type) ? this.#beginning(event) : this.#end(event)
    return found.map((what) => `${event.type} ${event.key}: ${what}`)
  }

  #beginning(event: Keyed): string[] {
    const standing = this.#told.standing().get(this.#step.name)
    if (this.#key.index !== undefined) return this.#item(standing, this.#key.index)
    const { after, rule } = this.#step
    if (standing !== 'ready') {
      const all = this.#told.standing()
      const parents = after.map((name) => `${name} ${all.get(name)}`).join(', ')
      return [`D4: it begins although it is ${standing}: ${rule} of ${parents || 'nothing'}`]
    }
    if (event.type === 'StepRefused') return this.#isRefused ? [] : ['it is refused, and nothing is wrong with it']
    if (this.#isRefused) return ['its condition throws, and it begins all the same']
    return [...this.#condition(event), ...this.#kind(event)]
  }

  get #isRefused(): boolean {
    return this.#step.when === 'throws' && !this.#walked.facts.heals(this.#step)
  }

  #condition({ type }: Keyed): string[] {
    const { spec, facts } = this.#walked
    const may = holds(this.#step, spec.input, this.#results, facts)
    if (may === (type !== 'StepSkipped')) return []
    return [may ? 'its condition holds' : 'its condition does not hold']
  }

  #kind(event: Keyed): string[] {
    const { delayMs, work, name } = this.#step
    if (event.type === 'StepSkipped') return []
    const wanted = delayMs !== undefined && !this.#told.delayed.has(name) ? 'TimerStarted' : BEGUN_BY[work.do]
    if (event.type !== wanted) return [`it begins with ${wanted}`]
    if (event.type !== 'ListTaken') return []
    const items = itemsOf(this.#step, this.#walked.spec.input, this.#results)
    return JSON.stringify(decode(event.items)) === JSON.stringify(items) ? [] : [`its list is ${JSON.stringify(items)}`]
  }

  #item(standing: string | undefined, index: number): string[] {
    const { work, name } = this.#step
    const { length } = this.#told.itemsOf(name)
    if (standing !== 'begun') return [`D4: an item begins of a step that is ${standing}`]
    if (this.#waits) return ['D4: an item begins before what it comes after is done again']
    if (work.do !== 'each' || index >= length) return [`it has ${length} items`]
    const open = [...this.#told.open].filter((key) => parseNodeKey(key)?.name === name)
    const most = work.parallel ?? length
    return open.length < most ? [] : [`${open.length} of its items are in progress, of ${most}`]
  }

  get #waits(): boolean {
    const all = this.#told.standing()
    const parents = this.#step.after.map((name) => endIn(all.get(name)))
    return verdictOf(this.#step.rule, parents) === 'wait'
  }

  #end(event: Keyed): string[] {
    if (event.type === 'StepFailed' || event.type === 'ChildFailed')
      return isDoomed(this.#step, this.#walked.facts) ? [] : ['it fails, and should not']
    if (event.type !== 'StepCompleted' && event.type !== 'ChildCompleted') return []
    const { spec } = this.#walked
    const { index } = this.#key
    const item = index === undefined ? undefined : this.#told.itemsOf(this.#step.name)[index]
    const value = valueOf(this.#step, spec.input, this.#results, item)
    if (decode(event.value) === value) return []
    return [`it gives ${JSON.stringify(decode(event.value))}, and should give ${value}`]
  }

  /** Of the steps it comes after, as they are now. */
  get #results(): Record<string, unknown> {
    const succeeded = this.#step.after.filter((name) => this.#told.known.get(name) === 'succeeded')
    return Object.fromEntries(succeeded.map((name) => [name, this.#told.done.get(name)]))
  }
}

const BEGUN_BY = {
  step: 'StepStarted',
  activity: 'StepStarted',
  each: 'ListTaken',
  child: 'ChildStarted',
  wait: 'WaitStarted',
} as const
