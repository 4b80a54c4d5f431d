// Pages without a stream ask again every few seconds, and say so when no answer comes.
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { codeOf } from './client.ts'
import { noteConnection } from './live.ts'

const EVERY_MS = 5_000
const SLOW_MS = 4_000

/** What `read` answers, asked again while the page is in sight. What was read stays when an answer fails. */
export function usePolled<T>(
  key: readonly unknown[],
  read: () => Promise<T>,
  { everyMs = EVERY_MS, enabled = true }: { readonly everyMs?: number; readonly enabled?: boolean } = {},
): UseQueryResult<T> {
  const query = useQuery({ queryKey: key, queryFn: read, refetchInterval: everyMs, enabled })
  useTold(query)
  return query
}

interface Told {
  readonly dataUpdatedAt: number
  readonly errorUpdatedAt: number
  readonly error: Error | null
  readonly isFetching: boolean
  readonly isPending: boolean
}

/** Tells the reader whether answers come. */
export function useTold(query: Told): void {
  const { dataUpdatedAt, errorUpdatedAt, error, isFetching, isPending } = query
  useEffect(() => {
    if (isFetching || isPending) return
    noteConnection(error !== null && codeOf(error) === 'SERVER_UNREACHABLE' ? 'lost' : 'open')
  }, [dataUpdatedAt, errorUpdatedAt, error, isFetching, isPending])
  // The client repeats a call for a while before it gives up: the reader is told earlier.
  useEffect(() => {
    if (!isFetching) return
    const timer = setTimeout(() => noteConnection('lost'), SLOW_MS)
    return () => clearTimeout(timer)
  }, [isFetching])
  useEffect(() => () => noteConnection('none'), [])
}
