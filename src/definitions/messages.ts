// The messages users send to a run: each has a name, and a type for what it carries.
import { checkName } from '../kernel/names.ts'
import type { Query, Signal, Update } from './contract.ts'

/** Told to a run, and not answered. */
export function signal<Payload = void>(name: string): Signal<Payload> {
  return { is: 'signal', name: checkName(name, 'the name of a signal') } as Signal<Payload>
}

/** Asks a run something. It changes nothing, and is answered from where the run stands. */
export function query<Payload = void, Out = unknown>(name: string): Query<Payload, Out> {
  return { is: 'query', name: checkName(name, 'the name of a query') } as Query<Payload, Out>
}

/** Has a run do something, and is answered when it is done. */
export function update<Payload = void, Out = void>(name: string): Update<Payload, Out> {
  return { is: 'update', name: checkName(name, 'the name of an update') } as Update<Payload, Out>
}
