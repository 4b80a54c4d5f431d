import { useInfiniteQuery } from '@tanstack/react-query'
import type { RunRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Problem, Skeleton } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { runPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { shortId, visible } from '../../data/format.ts'
import { text } from '../../text.ts'

/** The runs that this one started as its children, newest first. */
export function Children({ run }: { readonly run: RunRecord }): ReactNode {
  const { runId } = run
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['run', runId, 'children'],
    queryFn: ({ pageParam }) =>
      client().list({ parentRunId: runId }, { limit: 50, ...(pageParam !== '' && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
  })
  if (error) return <Problem error={error} onAgain={() => void refetch()} />
  if (!data) return <Skeleton rows={4} />
  const children = data.pages.flatMap(({ items }) => items)
  if (children.length === 0) return <p className="state muted">{text.run.noChildren}</p>
  return (
    <div className="list" tabIndex={0} role="region" aria-label={text.run.tabs.children}>
      <table className="plain">
        <thead>
          <tr>
            <th>Status</th>
            <th>Run</th>
            <th>Workflow</th>
            <th className="num">Started</th>
            <th className="num">Took</th>
          </tr>
        </thead>
        <tbody>
          {children.map(({ runId: child, workflowId, name, status, createdAt, endedAt }) => (
            <tr key={child}>
              <td>
                <StatusMark status={status} />
              </td>
              <td>
                <Link className="mono medium" href={runPath(child)}>
                  {workflowId === child ? shortId(child) : visible(workflowId)}
                </Link>
              </td>
              <td className="two">{visible(name)}</td>
              <td className="num mono muted">
                <Time at={createdAt} />
              </td>
              <td className="num mono">
                <Ticking from={createdAt} to={endedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {hasNextPage && (
        <button type="button" className="btn" onClick={() => void fetchNextPage()}>
          more
        </button>
      )}
    </div>
  )
}
