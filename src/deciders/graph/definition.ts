// Which definition of a graph a run goes by, and under which names it knows its steps. A run takes the definition of the
// code that begins it, and goes on by another only if that fits, or if somebody has said how.
import type { RegisteredGraph } from '../../definitions/registry.ts'
import { PawlError } from '../../kernel/errors.ts'
import type { Decision, HistoryEvent, StepShape } from '../../kernel/event.ts'
import { incompatibleSteps, otherDefinition } from './compatibility.ts'
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
  readonly #renamed = new Map<string, string>()
  readonly #gone = new Map<string, Gone>()

  constructor(graph: RegisteredGraph) {
    this.#graph = graph
    this.#version = graph.version
  }

  /** Steps that were recorded and are none of this graph's. */
  get gone(): readonly string[] {
    return [...this.#gone.keys()]
  }

  /** The name a step goes by now. */
  nameNow(name: string): string {
    return this.#renamed.get(name) ?? name
  }

  /** Names are needed to read what was recorded before they changed. */
  prepare(events: readonly HistoryEvent[]): void {
    for (const event of events) {
      if (event.type !== 'MigrationRequested') continue
      for (const [from, to] of Object.entries(event.steps)) {
        if (to === null) continue
        for (const [old, now] of this.#renamed) if (now === from) this.#renamed.set(old, to)
        this.#renamed.set(from, to)
      }
    }
  }

  take(taken: Taken): void {
    this.#taken = taken
    this.#wanted = undefined
  }

  /** Answers with the steps that are not to be done. */
  migrate({ hash, steps }: Migration): readonly string[] {
    this.#wanted = hash
    const skipped = Object.keys(steps).filter((name) => steps[name] === null)
    for (const name of skipped) this.#goneOf(name).ended = true
    return skipped.map((name) => this.nameNow(name))
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
    if (taken && this.#wanted === undefined) this.#refuse(taken, nodes)
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
    const shapes = taken.steps.map((shape) => this.#renamedShape(shape))
    const steps = incompatibleSteps(shapes, this.#graph.plan, isBehind)
    if (steps.length > 0)
      throw otherDefinition(this.#graph.name, taken.hash, this.#graph.plan.hash, steps)
  }

  #renamedShape([name, what, ...after]: StepShape): StepShape {
    const now = (each: string): string => this.nameNow(each)
    return [now(name), what, ...after.map(now)]
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
