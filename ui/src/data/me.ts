// What the token of the page may do.
import { useQuery } from '@tanstack/react-query'
import type { OperationOutput } from 'pawl/client'
import { text } from '../text.ts'
import { client } from './client.ts'

type Scope = OperationOutput<'me.get'>['scope']

const ranks: Readonly<Record<Scope, number>> = { none: 0, read: 1, operate: 2, admin: 3 }

/** Why operations of this scope are refused: the token may not use them. Undefined if they are allowed. */
export function useForbidden(needed: 'read' | 'operate' | 'admin' = 'operate'): string | undefined {
  const me = useQuery({ queryKey: ['me'], queryFn: () => client().me(), staleTime: 60_000 })
  const scope = me.data?.scope
  return scope === undefined || ranks[scope] >= ranks[needed] ? undefined : text.operate.scope(scope, needed)
}

/** True once it is known that the token may use operations of this scope. */
export function useMay(needed: 'operate' | 'admin'): boolean {
  const me = useQuery({ queryKey: ['me'], queryFn: () => client().me(), staleTime: 60_000 })
  return me.data !== undefined && ranks[me.data.scope] >= ranks[needed]
}
