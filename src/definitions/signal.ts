import { checkName } from '../kernel/names.ts'
import type { Signal } from './contract.ts'

/** A typed message users send to a run. */
export function signal<Payload = void>(name: string): Signal<Payload> {
  return { is: 'signal', name: checkName(name, 'the name of a signal') } as Signal<Payload>
}
