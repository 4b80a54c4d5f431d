// Matches the requests of replayed code to the recorded ones by their keys, and tells an inserted, renamed or changed
// step from the live edge, where nothing is recorded yet.
import { defined } from '../../base/defined.ts'
import type { IfPast } from '../../definitions/options.ts'
import type { Request } from '../../kernel/command.ts'
import type { Unplaced } from '../requests.ts'
import type { Journal, RecordedRequest } from './journal.ts'
import {
  callSite,
  duplicateKey,
  otherInput,
  otherStep,
  type RequestDescription,
  unknownStep,
} from './nondeterminism.ts'
import type { PendingRequest } from './pending-request.ts'

export interface Identity {
  /** The user gave the key. */
  readonly explicit: boolean
  readonly was?: string
  /** The key that this step had under the name in `was`. */
  readonly formerKey?: string
  readonly ifPast?: IfPast
  /** Throws if the wait must not be settled with this payload. */
  readonly check?: (payload: unknown) => void
}

const EFFECTS: ReadonlySet<string> = new Set(['RunStep', 'StartChild', 'SendMessage'])

const EVENT_OF = {
  RunStep: 'StepStarted',
  SetTimer: 'TimerStarted',
  AwaitSignal: 'WaitStarted',
  StartChild: 'ChildStarted',
  SendMessage: 'MessageSent',
  SetAttributes: 'AttributesSet',
  WriteStream: 'StreamWritten',
  BeginCompensation: 'CompensationBegan',
  EndCompensation: 'CompensationEnded',
} as const

export class RequestMatcher {
  readonly #workflow: string
  readonly #journal: Journal
  #explicitKeys: Set<string> | undefined
  /** By kind and name: the only recorded step with it was requested with another input. */
  #changedInputs: Map<string, Error> | undefined
  /** Requests since the code last came to rest that are not recorded. */
  #fresh: PendingRequest[] = []

  constructor(workflow: string, journal: Journal) {
    this.#workflow = workflow
    this.#journal = journal
  }

  /** Returns an error if the explicit key is already in use: it names one step of a run. */
  claim(key: string): Error | undefined {
    this.#explicitKeys ??= new Set()
    if (this.#explicitKeys.has(key)) return duplicateKey(this.#workflow, key)
    this.#explicitKeys.add(key)
    return undefined
  }

  /** The request under the key it was recorded with: a renamed step (`was`) keeps its former key. */
  underRecordedKey(request: Unplaced<Request>, { formerKey }: Identity): Unplaced<Request> {
    if (formerKey === undefined || this.#journal.unrequested.has(request.key)) return request
    return this.#journal.unrequested.has(formerKey) ? { ...request, key: formerKey } : request
  }

  /** Opens the request in the journal. Returns an error if it cannot be the one that was recorded under its key. */
  match(pending: PendingRequest, identity: Identity): Error | undefined {
    const { request } = pending
    const { key } = request
    const isSignal = request.type === 'AwaitSignal' && !request.condition
    const recorded = this.#journal.request({ key, ...(isSignal && { signal: request.name }) })
    if (recorded) {
      pending.recorded = recorded
      return this.#compare(pending, recorded, identity)
    }
    // The call site is read now, because the call is off the stack when markPast finds the step unknown.
    if (this.#journal.unrequested.size > 0) pending.description = describe(request)
    this.#fresh.push(pending)
    // A second step of a name shows that the one whose input changed was not the only one.
    return this.#changedInputs?.get(key.slice(0, key.lastIndexOf('#')))
  }

  /** True if the request is new and the code has not come to rest since: cancelled now, it counts as never made. */
  forget(pending: PendingRequest): boolean {
    const index = this.#fresh.indexOf(pending)
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
    for (const pending of fresh) {
      const { request } = pending
      pending.past = true
      if (!EFFECTS.has(request.type) || pending.ifPast === 'run' || isSideEffect(request)) continue
      if (this.#journal.again.has(request.key)) continue
      throw unknownStep(this.#workflow, pending.description ?? describe(request), ahead)
    }
  }

  /** True if the history has steps ahead that the code has not requested yet. */
  isBehind(position: number): boolean {
    return this.#ahead(position).length > 0
  }

  #ahead(position: number): RecordedRequest[] {
    const { unrequested, looseFrom } = this.#journal
    return [...unrequested.values()].filter(({ after, seq }) => after >= position && seq < looseFrom)
  }

  #compare({ request }: PendingRequest, recorded: RecordedRequest, identity: Identity): Error | undefined {
    if (!isSameKind(request, recorded, identity)) {
      return otherStep(this.#workflow, describe(request), recorded)
    }
    const comparable = 'digest' in recorded && 'digest' in request
    if (!comparable || identity.formerKey === request.key) return undefined
    if (recorded.digest === request.digest || identity.explicit) return undefined
    const error = otherInput(this.#workflow, describe(request), recorded)
    const repeats = this.#journal.occurrences(request.key) > 1 || !request.key.endsWith('#1')
    if (repeats) return error
    this.#changedInputs ??= new Map()
    this.#changedInputs.set(request.key.slice(0, -2), error)
    return undefined
  }
}

function isSameKind(request: Unplaced<Request>, recorded: RecordedRequest, { explicit, was }: Identity): boolean {
  if (EVENT_OF[request.type] !== recorded.type) return false
  if (request.type === 'SetTimer' || !('name' in recorded) || !('name' in request)) return true
  const isStep = request.type === 'RunStep' && recorded.type === 'StepStarted'
  if (isStep && request.kind !== recorded.kind) return false
  return request.name === recorded.name || !explicit || was === recorded.name
}

/** True if the request acts outside the run. */
function isEffect(recorded: RecordedRequest): boolean {
  if (recorded.type === 'ChildStarted' || recorded.type === 'MessageSent') return true
  return recorded.type === 'StepStarted' && recorded.kind !== 'sideEffect'
}

function isSideEffect(request: Unplaced<Request>): boolean {
  return request.type === 'RunStep' && request.kind === 'sideEffect'
}

function describe(request: Unplaced<Request>): RequestDescription {
  const name = 'name' in request ? request.name : request.type
  const input = 'input' in request ? request.input : undefined
  const site = callSite(new Error('here').stack)
  return defined({ key: request.key, name, input, site })
}
