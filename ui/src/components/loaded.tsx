// What a page has read: a skeleton before it is there, the problem if it cannot be read, and what was read stays, with
// its time, if a later answer fails.
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { clock } from '../data/format.ts'
import { useNow } from '../data/now.ts'
import { useSettings } from '../data/settings.ts'
import { text } from '../text.ts'
import { Problem, Skeleton } from './states.tsx'

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>
  readonly rows?: number
  readonly children: (value: T) => ReactNode
}

export function Loaded<T>({ query, rows = 4, children }: LoadedProps<T>): ReactNode {
  const { data, error, refetch } = query
  if (data === undefined && error !== null) return <Problem error={error} onAgain={() => void refetch()} />
  if (data === undefined) return <Skeleton rows={rows} />
  return (
    <>
      {error !== null && <Stale at={query.dataUpdatedAt} error={error} />}
      {children(data)}
    </>
  )
}

function Stale({ at, error }: { readonly at: number; readonly error: Error }): ReactNode {
  const { utc } = useSettings()
  const now = useNow()
  return (
    <p className="stale" role="status" title={error.message}>
      {text.problem.title}, {text.problem.asOf(clock(new Date(at), { utc, now }))}
    </p>
  )
}
