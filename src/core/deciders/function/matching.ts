// What code asks for, and whether it is what history recorded.
import type { IfPast } from '../../definitions/options.ts'
import type { Request } from '../../kernel/command.ts'
import type { Recorded } from './journal.ts'
import { type Asked, callSite } from './nondeterminism.ts'

export type Wanted = DistributiveOmit<Request, 'after' | 'past'>
type DistributiveOmit<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never

export interface Identity {
  readonly explicit: boolean
  readonly was?: string
  /** The key this step had under the name it was known by in older code. */
  readonly formerKey?: string
  readonly ifPast?: IfPast
  /** Refuses what the wait is settled with by throwing. */
  readonly check?: (payload: unknown) => void
}

const recordedType = {
  RunStep: 'StepStarted',
  SetTimer: 'TimerStarted',
  AwaitSignal: 'WaitStarted',
  StartChild: 'ChildStarted',
  SendMessage: 'MessageSent',
  SetAttributes: 'AttributesSet',
  BeginCompensation: 'CompensationBegan',
  EndCompensation: 'CompensationEnded',
} as const

export function sameKind(wanted: Wanted, recorded: Recorded, identity: Identity): boolean {
  if (recordedType[wanted.type] !== recorded.type) return false
  if (wanted.type === 'SetTimer' || !('name' in recorded) || !('name' in wanted)) return true
  if (wanted.type === 'RunStep' && recorded.type === 'StepStarted' && wanted.kind !== recorded.kind)
    return false
  return wanted.name === recorded.name || !identity.explicit || identity.was === recorded.name
}

export function isEffect(recorded: Recorded): boolean {
  if (recorded.type === 'ChildStarted' || recorded.type === 'MessageSent') return true
  return recorded.type === 'StepStarted' && recorded.kind !== 'sideEffect'
}

export function isSideEffect(wanted: Wanted): boolean {
  return wanted.type === 'RunStep' && wanted.kind === 'sideEffect'
}

export function describeWanted(wanted: Wanted): Asked {
  const name = 'name' in wanted ? wanted.name : wanted.type
  const input = 'input' in wanted ? wanted.input : undefined
  const site = callSite(new Error('here').stack)
  return { key: wanted.key, name, ...(input && { input }), ...(site !== undefined && { site }) }
}
