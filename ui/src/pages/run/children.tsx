// Where the run stands among its parents and children: a tree, read as it is opened.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { RunRecord } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Icon } from '../../components/icon.tsx'
import { Problem, Skeleton, Teach } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { runPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { shortId, visible } from '../../data/format.ts'
import { failureText, waitingText } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { handleOf } from './use-run.ts'

const words = runText.tree
const PAGE = 50
const PARENTS_MAX = 10

export function Children({ run }: { readonly run: RunRecord }): ReactNode {
  const parents = useParents(run)
  const first = useChildren(run.runId)
  const depth = parents.data?.length ?? 0
  if (first.error) return <Problem error={first.error} onAgain={() => void first.refetch()} />
  if (!first.data) return <Skeleton rows={4} />
  const isAlone = depth === 0 && first.data.pages[0]?.items.length === 0
  if (isAlone) return <Teach title={words.empty} about={words.emptyAbout} />
  return (
    <div className="list" tabIndex={0} role="region" aria-label={words.region}>
      <table className="plain fixed tree" role="treegrid" aria-label={words.region}>
        <thead>
          <tr>
            <th>{words.columns.run}</th>
            <th className="only-wide">{words.columns.workflow}</th>
            <th>{words.columns.why}</th>
            <th className="num only-wide">{words.columns.started}</th>
            <th className="num">{words.columns.took}</th>
          </tr>
        </thead>
        <tbody>
          {parents.data?.map((parent, at) => (
            <RunRow key={parent.runId} run={parent} depth={at} />
          ))}
          <RunRow run={run} depth={depth} isHere />
          <Branch runId={run.runId} depth={depth + 1} />
        </tbody>
      </table>
    </div>
  )
}

/** From the oldest on. */
function useParents({ runId, parentRunId }: RunRecord) {
  return useQuery({
    queryKey: ['run', runId, 'parents'],
    queryFn: async () => {
      const parents: RunRecord[] = []
      let next = parentRunId
      while (next !== undefined && parents.length < PARENTS_MAX) {
        const parent = await handleOf(next)
          .describe()
          .catch(() => undefined)
        if (parent) parents.unshift(parent)
        next = parent?.parentRunId
      }
      return parents
    },
  })
}

function useChildren(runId: string) {
  return useInfiniteQuery({
    queryKey: ['run', runId, 'children'],
    queryFn: ({ pageParam }) =>
      client().list({ parentRunId: runId }, { limit: PAGE, ...(pageParam !== '' && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
  })
}

interface BranchProps {
  readonly runId: string
  readonly depth: number
}

/** The children of a run, newest first. */
function Branch({ runId, depth }: BranchProps): ReactNode {
  const { data, error, hasNextPage, fetchNextPage } = useChildren(runId)
  const line = (what: ReactNode): ReactNode => (
    <tr>
      <td colSpan={5} style={{ paddingLeft: indentOf(depth) }}>
        {what}
      </td>
    </tr>
  )
  if (error) return line(<span className="failed">{visible(error.message)}</span>)
  if (!data) return line('…')
  const children = data.pages.flatMap(({ items }) => items)
  if (children.length === 0) return line(<span className="muted">{words.noChildren}</span>)
  return (
    <>
      {children.map((child) => (
        <Child key={child.runId} run={child} depth={depth} />
      ))}
      {hasNextPage &&
        line(
          <button type="button" className="btn" onClick={() => void fetchNextPage()}>
            {words.more}
          </button>,
        )}
    </>
  )
}

function Child({ run, depth }: { readonly run: RunRecord; readonly depth: number }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <RunRow run={run} depth={depth} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
      {isOpen && <Branch runId={run.runId} depth={depth + 1} />}
    </>
  )
}

function indentOf(depth: number): string {
  return `calc(var(--s-5) + ${Math.min(depth, 12) * 18}px)`
}

interface RowProps {
  readonly run: RunRecord
  readonly depth: number
  readonly isHere?: boolean
  readonly isOpen?: boolean
  readonly onToggle?: () => void
}

function RunRow({ run, depth, isHere = false, isOpen = false, onToggle }: RowProps): ReactNode {
  const { runId, workflowId, name, status, createdAt, endedAt, waitingFor, failure } = run
  const shown = workflowId === runId ? shortId(runId) : visible(workflowId)
  const why = failure ? failureText(failure) : waitingFor === undefined ? '' : waitingText(waitingFor)
  const label = isOpen ? words.close(shown) : words.open(shown)
  return (
    <tr aria-level={depth + 1} aria-selected={isHere} aria-expanded={onToggle ? isOpen : undefined}>
      <td className="cut" style={{ paddingLeft: indentOf(depth) }}>
        {onToggle ? (
          <button type="button" className="btn quiet icon" aria-label={label} title={label} onClick={onToggle}>
            <Icon name={isOpen ? 'down' : 'right'} small />
          </button>
        ) : (
          <span className="twig" />
        )}
        <StatusMark status={status} word={false} />{' '}
        {isHere ? (
          <b className="mono">{shown}</b>
        ) : (
          <Link className="mono medium" href={runPath(runId)}>
            {shown}
          </Link>
        )}
        {isHere && <span className="tag">{words.here}</span>}
      </td>
      <td className="two cut only-wide">{visible(name)}</td>
      <td className={failure ? 'cut failed' : 'cut two'} title={visible(why)}>
        {why === '' ? status : visible(why)}
      </td>
      <td className="num mono muted only-wide">
        <Time at={createdAt} />
      </td>
      <td className="num mono">
        <Ticking from={createdAt} to={endedAt} />
      </td>
    </tr>
  )
}
