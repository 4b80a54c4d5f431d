// Finds what code asks for again in what was recorded, and tells an insertion, a rename and another input from the live
// edge, where nothing is recorded yet.
import type { Journal, Recorded } from './journal.ts'
import {
  describeWanted,
  type Identity,
  isEffect,
  isSideEffect,
  sameKind,
  type Wanted,
} from './matching.ts'
import { duplicateKey, otherInput, otherStep, unknownStep } from './nondeterminism.ts'
import type { Request } from './request.ts'

const EFFECTS: ReadonlySet<string> = new Set(['RunStep', 'StartChild', 'SendMessage'])

export class Recognition {
  readonly #workflow: string
  readonly #journal: Journal
  #explicitKeys: Set<string> | undefined
  /** By kind and name: the only recorded step of it was asked for with another input. */
  #changedInputs: Map<string, Error> | undefined
  #fresh: Request[] = []

  constructor(workflow: string, journal: Journal) {
    this.#workflow = workflow
    this.#journal = journal
  }

  /** An explicit key names one step of a run. */
  claim(key: string): Error | undefined {
    this.#explicitKeys ??= new Set()
    if (this.#explicitKeys.has(key)) return duplicateKey(this.#workflow, key)
    this.#explicitKeys.add(key)
    return undefined
  }

  /** A step known under an older name keeps the key it was recorded with. */
  under(wanted: Wanted, identity: Identity): Wanted {
    const { formerKey } = identity
    if (formerKey === undefined || this.#journal.unrequested.has(wanted.key)) return wanted
    return this.#journal.unrequested.has(formerKey) ? { ...wanted, key: formerKey } : wanted
  }

  /** Opens the request in the journal. Answers with why it cannot be what was recorded, if so. */
  match(request: Request, identity: Identity): Error | undefined {
    const { wanted } = request
    const { key } = wanted
    const isSignal = wanted.type === 'AwaitSignal' && !wanted.condition
    const recorded = this.#journal.request({ key, ...(isSignal && { signal: wanted.name }) })
    if (recorded) {
      request.recorded = recorded
      return this.#compare(request, recorded, identity)
    }
    // Where it was asked for matters only if it turns out to be unknown; then the call is long gone.
    if (this.#journal.unrequested.size > 0) request.asked = describeWanted(wanted)
    this.#fresh.push(request)
    // A second step of a name shows that the one whose input changed was not the only one.
    return this.#changedInputs?.get(key.slice(0, key.lastIndexOf('#')))
  }

  /** Whether it was let go before the code came to rest: then it is as if it had never been asked for. */
  forget(request: Request): boolean {
    const index = this.#fresh.indexOf(request)
    if (index >= 0) this.#fresh.splice(index, 1)
    return index >= 0
  }

  /**
   * Decided right after the code has come to rest, before anything else is delivered: later deliveries would move the
   * position past the very steps that tell an insertion from the live edge.
   */
  markPast(position: number): void {
    if (this.#fresh.length === 0) return
    const fresh = this.#fresh
    this.#fresh = []
    const ahead = this.#ahead(position).filter(isEffect)
    if (ahead.length === 0) return
    for (const request of fresh) {
      request.past = true
      const effect = EFFECTS.has(request.wanted.type)
      if (!effect || request.ifPast === 'run' || isSideEffect(request.wanted)) continue
      if (this.#journal.again.has(request.wanted.key)) continue
      throw unknownStep(this.#workflow, request.asked ?? describeWanted(request.wanted), ahead)
    }
  }

  /** Recorded steps lie ahead that the code has not asked for again. */
  isBehind(position: number): boolean {
    return this.#ahead(position).length > 0
  }

  #ahead(position: number): Recorded[] {
    const { unrequested, looseFrom } = this.#journal
    return [...unrequested.values()].filter(
      ({ after, seq }) => after >= position && seq < looseFrom,
    )
  }

  #compare({ wanted }: Request, recorded: Recorded, identity: Identity): Error | undefined {
    if (!sameKind(wanted, recorded, identity)) {
      return otherStep(this.#workflow, describeWanted(wanted), recorded)
    }
    const comparable = 'digest' in recorded && 'digest' in wanted
    if (!comparable || identity.formerKey === wanted.key) return undefined
    if (recorded.digest === wanted.digest || identity.explicit) return undefined
    const error = otherInput(this.#workflow, describeWanted(wanted), recorded)
    const repeats = this.#journal.occurrences(wanted.key) > 1 || !wanted.key.endsWith('#1')
    if (repeats) return error
    this.#changedInputs ??= new Map()
    this.#changedInputs.set(wanted.key.slice(0, -2), error)
    return undefined
  }
}
