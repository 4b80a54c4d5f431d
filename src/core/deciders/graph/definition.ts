// The definition of a graph that a run follows, and the names under which the run knows its steps. A run takes the
// definition of the code that begins it, and continues with another only if that fits or a migration says how.

import type { PawlError } from '../../base/errors.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { HistoryEvent } from '../../kernel/event.ts'
import { type DefinitionTaken, mismatch } from '../errors.ts'
import { incompatibleSteps, missingInMigration, otherDefinition } from './compatibility.ts'
import type { NodeKey } from './node-key.ts'
import { isEnd, type Nodes } from './nodes.ts'

type Migration = Extract<HistoryEvent, { type: 'MigrationRequested' }>

/** A step of an earlier definition that this one does not have. */
interface RemovedStep {
  ended: boolean
  readonly open: Set<string>
}

export class Definition {
  readonly #graph: RegisteredGraph
  readonly #version: number | undefined
  #taken: DefinitionTaken | undefined
  /** The hash of the definition that a migration named and that the run does not follow yet. */
  #migratingTo: string | undefined
  /** Migrations in events that have not been folded yet. */
  readonly #ahead: Migration[] = []
  /** By key: the present name of a step that was recorded under another one. */
  readonly #names = new Map<string, string>()
  /** By former name: the last round in such keys. A step that has the name now begins with the next round. */
  readonly usedRounds = new Map<string, number>()
  readonly #removed = new Map<string, RemovedStep>()
  /** The present names of its steps, without those that migrations skipped; and the names that migrations gave. */
  #known: ReadonlySet<string> = new Set()
  readonly #given = new Set<string>()

  constructor(graph: RegisteredGraph) {
    this.#graph = graph
    this.#version = graph.version
  }

  /** Recorded steps that this graph does not have. */
  get removedSteps(): readonly string[] {
    return [...this.#removed.keys()]
  }

  /** The present name of the step that a key was recorded for. */
  nameOf(key: string, { name, round }: NodeKey): string {
    const known = this.#names.get(key)
    if (known !== undefined || this.#ahead.length === 0) return known ?? name
    const now = this.#renamed(name)
    if (now === name) return name
    this.#names.set(key, now)
    this.usedRounds.set(name, Math.max(round, this.usedRounds.get(name) ?? 0))
    return now
  }

  /** Must see all events first: migrations give names to what was recorded before them. */
  prepare(events: readonly HistoryEvent[]): void {
    for (const event of events) if (event.type === 'MigrationRequested') this.#ahead.push(event)
  }

  // All names of a migration change at once, so that `{ a: 'b', b: 'a' }` swaps two steps.
  #renamed(name: string): string {
    return this.#ahead.reduce((now, { steps }) => {
      const next = Object.hasOwn(steps, now) ? steps[now] : undefined
      return next ?? now
    }, name)
  }

  take(taken: DefinitionTaken): void {
    this.#taken = taken
    this.#migratingTo = undefined
    this.#known = new Set(taken.steps.map(([name]) => name))
    this.#given.clear()
  }

  /** Returns the names of the steps to skip. */
  migrate({ hash, steps }: Migration): readonly string[] {
    this.#migratingTo = hash
    this.#ahead.shift()
    this.#rename(steps)
    const skipped = Object.keys(steps).filter((name) => steps[name] === null)
    const names = skipped.map((name) => this.#renamed(name))
    for (const name of names) this.#removedStep(name).ended = true
    return names
  }

  #rename(steps: Migration['steps']): void {
    const known = [...this.#known].flatMap((name) => {
      if (!Object.hasOwn(steps, name)) return [name]
      return steps[name] ?? []
    })
    this.#known = new Set(known)
    for (const name of Object.keys(steps)) this.#given.delete(name)
    for (const name of Object.values(steps)) if (name !== null) this.#given.add(name)
  }

  foldRemoved(event: Extract<HistoryEvent, { key: string }>, name: string | undefined): void {
    if (name === undefined) return
    const step = this.#removedStep(name)
    if (event.type.endsWith('Started')) step.open.add(event.key)
    else if (ENDS.has(event.type) && !event.key.startsWith('delay:')) this.endRemoved(name)
  }

  hasEnded(name: string): boolean {
    return this.#removedStep(name).ended
  }

  endRemoved(name: string): void {
    const step = this.#removedStep(name)
    step.ended = true
    step.open.clear()
  }

  /** The keys of open requests of removed steps that a migration skipped. */
  takeOpen(): readonly string[] {
    return [...this.#removed.values()].flatMap(({ ended, open }) => {
      const keys = ended ? [...open] : []
      if (ended) open.clear()
      return keys
    })
  }

  /** The decision to record if the run follows this definition from now on. Throws if the definition does not fit. */
  reconcile(nodes: Nodes): DefinitionTaken | undefined {
    const { plan, name } = this.#graph
    const { hash } = plan
    const taken = this.#taken
    if (taken?.hash === hash && (this.#migratingTo ?? hash) === hash) return undefined
    if (this.#migratingTo !== undefined && this.#migratingTo !== hash)
      throw otherMigration(name, this.#migratingTo, hash)
    if (taken) this.#refuse(taken, nodes)
    const version = this.#version === undefined ? {} : { version: this.#version }
    const next: DefinitionTaken = { type: 'DefinitionTaken', hash, ...version, steps: plan.shapes }
    this.take(next)
    return next
  }

  #refuse(taken: DefinitionTaken, nodes: Nodes): void {
    const isBehind = (step: string): boolean => {
      const state = nodes.get(step)
      return state ? isEnd(state.status) : this.#removed.get(step)?.ended === true
    }
    const { plan } = this.#graph
    const steps =
      this.#migratingTo === undefined
        ? incompatibleSteps(taken.steps, plan, isBehind)
        : missingInMigration(this.#known, this.#given, plan, isBehind)
    if (steps.length > 0) throw otherDefinition(this.#graph.name, taken.hash, this.#graph.plan.hash, steps)
  }

  #removedStep(name: string): RemovedStep {
    const known = this.#removed.get(name)
    if (known) return known
    const step: RemovedStep = { ended: false, open: new Set() }
    this.#removed.set(name, step)
    return step
  }
}

const ENDS: ReadonlySet<string> = new Set([
  'StepCompleted',
  'StepFailed',
  'ChildCompleted',
  'ChildFailed',
  'TimerFired',
  'StepSkipped',
  'StepRefused',
])

function otherMigration(workflow: string, wanted: string, code: string): PawlError {
  const message = `this run of graph '${workflow}' was migrated to definition ${wanted}, but this code is definition ${code}. Deploy the code of ${wanted}, or migrate the run to ${code}.`
  return mismatch(message, { wanted, code })
}
