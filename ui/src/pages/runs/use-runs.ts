// The list of runs, live: rows change in place and never change their order; newer runs wait until they are asked for.
import { useInfiniteQuery } from '@tanstack/react-query'
import type { LiveEvents, RunFilter, RunRecord, RunSummary } from 'pawl/client'
import { useMemo, useRef, useState } from 'react'
import { client } from '../../data/client.ts'
import { readQuery } from '../../data/filter.ts'
import { revived, useLive } from '../../data/live.ts'

const PAGE = 100
const WATCHED = 200

/** A run as the list shows it: from the list, then from the stream. */
export type Row = Omit<RunRecord, 'failure'> & Pick<RunSummary, 'failure'> & { readonly leftFilter?: true }

export interface RunList {
  readonly rows: readonly Row[]
  readonly filter: RunFilter
  readonly problems: ReadonlyMap<string, string>
  readonly counts: { readonly count: number; readonly byStatus: Readonly<Record<string, number>> } | undefined
  readonly newer: number
  readonly showNewer: () => void
  readonly isLoading: boolean
  readonly error: unknown
  readonly again: () => void
  readonly loadMore: () => void
  readonly isLoadingMore: boolean
}

interface Changes {
  readonly rows: ReadonlyMap<string, Partial<Row>>
  readonly newer: ReadonlySet<string>
  readonly counts: RunList['counts']
}

const nothing: Changes = { rows: new Map(), newer: new Set(), counts: undefined }

export function useRuns(query: string): RunList {
  const [asOf, setAsOf] = useState(() => Date.now())
  const { filter, problems } = useMemo(() => readQuery(query, asOf), [query, asOf])
  const isValid = problems.size === 0
  const list = useInfiniteQuery({
    queryKey: ['runs', query, asOf],
    queryFn: ({ pageParam }) => client().list(filter, { limit: PAGE, ...(pageParam !== '' && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor,
    enabled: isValid,
    placeholderData: (before) => before,
  })
  const listed = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data])
  const [key, changes] = useChanges({ query, asOf, filter: isValid ? filter : undefined, listed })
  const rows = useMemo(
    () => listed.map((run) => ({ ...run, ...changes.rows.get(run.runId) })),
    // The key tells when the changes are of another list.
    [listed, changes, key],
  )
  return {
    ...{ rows, filter, problems, counts: changes.counts, newer: changes.newer.size },
    showNewer: () => setAsOf(Date.now()),
    isLoading: isValid && list.isPending,
    error: list.error,
    again: () => void list.refetch(),
    loadMore: () => {
      if (list.hasNextPage && !list.isFetchingNextPage) void list.fetchNextPage()
    },
    isLoadingMore: list.isFetchingNextPage,
  }
}

interface Watched {
  readonly query: string
  readonly asOf: number
  readonly filter: RunFilter | undefined
  readonly listed: readonly RunRecord[]
}

/** What the stream has told since the list was read. */
function useChanges({ query, asOf, filter, listed }: Watched): readonly [string, Changes] {
  const key = `${asOf} ${query}`
  const [state, setState] = useState({ key, changes: nothing })
  const changes = state.key === key ? state.changes : nothing
  const gone = useRef(new Set<string>())
  const known = useMemo(() => new Set(listed.map(({ runId }) => runId)), [listed])
  const newest = listed[0]?.createdAt.getTime() ?? 0
  const update = (next: (before: Changes) => Changes): void =>
    setState((before) => ({ key, changes: next(before.key === key ? before.changes : nothing) }))
  const refresh = async (runId: string): Promise<void> => {
    const run = await client()
      .get(runId)
      .describe()
      .catch(() => undefined)
    if (run) update((before) => ({ ...before, rows: new Map(before.rows).set(runId, leaving(run, filter)) }))
  }
  const hear = (events: readonly LiveEvents['live.runs'][]): void => {
    update((before) => applied(before, events, { known, newest }))
    for (const each of events) {
      const runId = each.event === 'left' ? each.data.runId : each.event === 'run' ? endedId(each.data) : undefined
      if (runId === undefined || !known.has(runId) || gone.current.has(runId)) continue
      gone.current.add(runId)
      void refresh(runId).finally(() => gone.current.delete(runId))
    }
  }
  useLive('live.runs', filter && { ...named(filter), limit: WATCHED, counts: true }, hear)
  return [key, changes]
}

/** The stream has no outputs, so an ended run is read once more. */
function endedId({ runId, endedAt }: RunSummary): string | undefined {
  return endedAt === undefined ? undefined : runId
}

function leaving(run: RunRecord, filter: RunFilter | undefined): Partial<Row> {
  const wanted = filter?.status === undefined ? undefined : [filter.status].flat()
  return wanted && !wanted.includes(run.status) ? { ...run, leftFilter: true } : run
}

type Known = { readonly known: ReadonlySet<string>; readonly newest: number }

function applied(before: Changes, events: readonly LiveEvents['live.runs'][], { known, newest }: Known): Changes {
  const rows = new Map(before.rows)
  const newer = new Set(before.newer)
  let { counts } = before
  for (const each of events) {
    if (each.event === 'counts') counts = each.data
    if (each.event !== 'run') continue
    const run = revived(JSON.stringify(each.data)) as RunSummary
    if (known.has(run.runId)) rows.set(run.runId, { ...rows.get(run.runId), ...cleared, ...run })
    else if (run.createdAt.getTime() >= newest) newer.add(run.runId)
  }
  return { rows, newer, counts }
}

/** Fields that a newer state may lack. */
const cleared = { waitingFor: undefined, failure: undefined, endedAt: undefined } as unknown as Partial<Row>

/** Workflows by name, as the API takes them. */
export function named(filter: RunFilter): Omit<RunFilter, 'workflow'> & { readonly workflow?: string | string[] } {
  const { workflow, ...rest } = filter
  return workflow === undefined ? rest : { ...rest, workflow: [workflow].flat().map(String) }
}
