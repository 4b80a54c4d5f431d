// What the token of the page may do.
import { useQuery } from '@tanstack/react-query'
import { text } from '../text.ts'
import { client } from './client.ts'

/** Why operations are refused: the token only reads. Undefined if they are allowed. */
export function useForbidden(): string | undefined {
  const me = useQuery({ queryKey: ['me'], queryFn: () => client().me(), staleTime: 60_000 })
  const scope = me.data?.scope
  return scope === 'read' || scope === 'none' ? text.operate.scope(scope) : undefined
}
