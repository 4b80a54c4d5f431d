// Which definition of a graph a run goes by, and under which names it knows its steps. A run takes the definition of the
// code that begins it, and goes on by another only if that fits, or if somebody has said how.

import { PawlError } from '../../base/errors.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { Decision, HistoryEvent } from '../../kernel/event.ts'
import { incompatibleSteps, leftUnsaid, otherDefinition } from './compatibility.ts'
import type { NodeKey } from './node-key.ts'
import { isEnd, type Nodes } from './nodes.ts'

type Taken = Extract<Decision, { type: 'DefinitionTaken' }>
type Migration = Extract<HistoryEvent, { type: 'MigrationRequested' }>

/** A step of an older definition that this one does not have. */
interface Gone {
  ended: boolean
  readonly open: Set<string>
}

export class Definition {
  readonly #graph: RegisteredGraph
  readonly #version: number | undefined
  #taken: Taken | undefined
  /** The definition somebody wants it to go by, which it does not yet. */
  #wanted: string | undefined
  /** Migrations that lie ahead of what was read last. */
  readonly #ahead: Migration[] = []
  /** What was recorded under another name than the step has now. */
  readonly #names = new Map<string, string>()
  /** Names that stood in such keys, and up to which number: who has the name now goes on from there. */
  readonly spent = new Map<string, number>()
  readonly #gone = new Map<string, Gone>()
  /** Its steps by the names they have by now, but for those that are skipped; and names that migrations gave. */
  #known: ReadonlySet<string> = new Set()
  readonly #given = new Set<string>()

  constructor(graph: RegisteredGraph) {
    this.#graph = graph
    this.#version = graph.version
  }

  /** Steps that were recorded and are none of this graph's. */
  get gone(): readonly string[] {
    return [...this.#gone.keys()]
  }

  /** The name that the step of a key goes by now. It is known by what the key stood for when it was asked for. */
  nameOf(key: string, { name, round }: NodeKey): string {
    const known = this.#names.get(key)
    if (known !== undefined || this.#ahead.length === 0) return known ?? name
    const now = this.#renamed(name)
    if (now === name) return name
    this.#names.set(key, now)
    this.spent.set(name, Math.max(round, this.spent.get(name) ?? 0))
    return now
  }

  /** Names are needed to read what was recorded before they changed. */
  prepare(events: readonly HistoryEvent[]): void {
    for (const event of events) if (event.type === 'MigrationRequested') this.#ahead.push(event)
  }

  // Names change all at once: with `{ a: 'b', b: 'a' }` two steps have changed places.
  #renamed(name: string): string {
    return this.#ahead.reduce((now, { steps }) => {
      const next = Object.hasOwn(steps, now) ? steps[now] : undefined
      return next ?? now
    }, name)
  }

  take(taken: Taken): void {
    this.#taken = taken
    this.#wanted = undefined
    this.#known = new Set(taken.steps.map(([name]) => name))
    this.#given.clear()
  }

  /** Answers with the steps that are not to be done. */
  migrate({ hash, steps }: Migration): readonly string[] {
    this.#wanted = hash
    this.#ahead.shift()
    this.#rename(steps)
    const skipped = Object.keys(steps).filter((name) => steps[name] === null)
    const names = skipped.map((name) => this.#renamed(name))
    for (const name of names) this.#goneOf(name).ended = true
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

  foldGone(event: Extract<HistoryEvent, { key: string }>, name: string | undefined): void {
    if (name === undefined) return
    const gone = this.#goneOf(name)
    if (event.type.endsWith('Started')) gone.open.add(event.key)
    else if (ENDS.has(event.type) && !event.key.startsWith('delay:')) this.endGone(name)
  }

  hasEnded(name: string): boolean {
    return this.#goneOf(name).ended
  }

  endGone(name: string): void {
    const gone = this.#goneOf(name)
    gone.ended = true
    gone.open.clear()
  }

  /** What is open of steps that are not to be done and that this graph does not have. */
  takeOpen(): readonly string[] {
    return [...this.#gone.values()].flatMap(({ ended, open }) => {
      const keys = ended ? [...open] : []
      if (ended) open.clear()
      return keys
    })
  }

  /** What is to be written down if the run goes by this definition from now on. Throws if it must not. */
  reconcile(nodes: Nodes): Taken | undefined {
    const { plan, name } = this.#graph
    const { hash } = plan
    const taken = this.#taken
    if (taken?.hash === hash && (this.#wanted ?? hash) === hash) return undefined
    if (this.#wanted !== undefined && this.#wanted !== hash)
      throw otherWanted(name, this.#wanted, hash)
    if (taken) this.#refuse(taken, nodes)
    const version = this.#version === undefined ? {} : { version: this.#version }
    const next: Taken = { type: 'DefinitionTaken', hash, ...version, steps: plan.shapes }
    this.take(next)
    return next
  }

  #refuse(taken: Taken, nodes: Nodes): void {
    const isBehind = (step: string): boolean => {
      const state = nodes.get(step)
      return state ? isEnd(state.status) : this.#gone.get(step)?.ended === true
    }
    const { plan } = this.#graph
    const steps =
      this.#wanted === undefined
        ? incompatibleSteps(taken.steps, plan, isBehind)
        : leftUnsaid(this.#known, this.#given, plan, isBehind)
    if (steps.length > 0)
      throw otherDefinition(this.#graph.name, taken.hash, this.#graph.plan.hash, steps)
  }

  #goneOf(name: string): Gone {
    const known = this.#gone.get(name)
    if (known) return known
    const gone: Gone = { ended: false, open: new Set() }
    this.#gone.set(name, gone)
    return gone
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

function otherWanted(workflow: string, wanted: string, hash: string): PawlError {
  const message = `this run of graph '${workflow}' is to go by definition ${wanted}, and this code is definition ${hash}. Deploy the code of ${wanted}, or migrate the run to ${hash}.`
  const error = new PawlError('VERSION_MISMATCH', message, { details: { wanted, code: hash } })
  error.name = 'VersionMismatch'
  return error
}
