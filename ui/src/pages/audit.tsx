// The audit trail: who changed what, when and why.
import { useInfiniteQuery } from '@tanstack/react-query'
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Field } from '../components/act.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { PageFrame } from '../components/page.tsx'
import { Problem, Skeleton, Teach } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { runPath, useField } from '../data/address.ts'
import { client } from '../data/client.ts'
import { shortId, visible } from '../data/format.ts'
import { useForbidden } from '../data/me.ts'
import { paths, schedulePath } from '../data/pages.ts'
import { useTold } from '../data/polled.ts'
import { pageText } from '../texts/pages.ts'

type Entry = OperationOutput<'audit.list'>['items'][number]

const PAGE = 50
const EVERY_MS = 10_000
const KINDS = ['runs.', 'batches.', 'schedules.', 'definitions.', 'builds.', 'tokens.', 'views.', 'completions.']
const words = pageText.audit

export function AuditPage(): ReactNode {
  const forbidden = useForbidden('admin')
  return (
    <PageFrame title={pageText.nav.audit}>
      {forbidden === undefined ? <Trail /> : <Teach title={words.needs} about={forbidden} command={words.command} />}
    </PageFrame>
  )
}

function Trail(): ReactNode {
  const [by, setBy] = useField('by')
  const [operation, setOperation] = useField('what')
  const [target, setTarget] = useField('target')
  const filter = { ...(by && { by }), ...(operation && { operation }), ...(target && { target }) }
  const isFiltered = Object.keys(filter).length > 0
  const list = useInfiniteQuery({
    queryKey: ['audit', by, operation, target],
    queryFn: ({ pageParam }) =>
      client().call('audit.list', { ...filter, limit: PAGE, ...(pageParam !== '' && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.cursor,
    refetchInterval: EVERY_MS,
  })
  useTold(list)
  const entries = list.data?.pages.flatMap(({ items }) => items) ?? []
  const clear = (): void => {
    setBy('')
    setOperation('')
    setTarget('')
  }
  return (
    <>
      <div className="audit-filter">
        <Field label={words.by} value={by} onChange={setBy} />
        <label className="field">
          <span>{words.operation}</span>
          <select className="text" value={operation} onChange={({ target: chosen }) => setOperation(chosen.value)}>
            <option value="">{words.any}</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind}*
              </option>
            ))}
            {operation !== '' && !KINDS.includes(operation) && <option value={operation}>{operation}</option>}
          </select>
        </label>
        <Field label={words.target} value={target} onChange={setTarget} />
        {isFiltered && (
          <button type="button" className="btn align-end" onClick={clear}>
            {words.clear}
          </button>
        )}
      </div>
      {list.isPending && <Skeleton rows={8} />}
      {list.error !== null && <Problem error={list.error} onAgain={() => void list.refetch()} />}
      {entries.length > 0 && (
        <DataTable
          label={words.list}
          columns={columnsFor({ setBy, setOperation, setTarget })}
          rows={entries}
          keyOf={({ requestId, operation: what, target: on = '' }) => `${requestId} ${what} ${on}`}
        />
      )}
      {list.data && entries.length === 0 && !list.hasNextPage && (
        <Teach {...(isFiltered ? words.filtered : words.empty)} />
      )}
      {list.hasNextPage && (
        <p className="pad">
          <button type="button" className="btn" disabled={list.isFetching} onClick={() => void list.fetchNextPage()}>
            {words.more}
          </button>
        </p>
      )}
    </>
  )
}

interface Setters {
  readonly setBy: (value: string) => void
  readonly setOperation: (value: string) => void
  readonly setTarget: (value: string) => void
}

function columnsFor({ setBy, setOperation, setTarget }: Setters): readonly Column<Entry>[] {
  const heads = words.columns
  const filtering = (value: string, set: (value: string) => void): ReactNode => (
    <button type="button" className="linklike cut" title={visible(value)} onClick={() => set(value)}>
      {visible(shortId(value, 40))}
    </button>
  )
  return [
    { head: heads.at, cell: ({ at }) => <Time at={at} />, width: 130, narrow: 'side' },
    { head: heads.by, cell: ({ by }) => filtering(by, setBy), width: 150, narrow: 'below' },
    {
      head: heads.what,
      cell: ({ operation }) => <code>{filtering(operation, setOperation)}</code>,
      width: 190,
      narrow: 'main',
    },
    { head: heads.target, cell: (entry) => <Target entry={entry} onFilter={setTarget} />, narrow: 'below' },
    { head: heads.outcome, cell: (entry) => <Outcome entry={entry} />, width: 150, narrow: 'below' },
    { head: heads.why, cell: ({ reason }) => (reason === undefined ? '–' : visible(reason)), narrow: 'below' },
  ]
}

const RUN_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

function Target({ entry, onFilter }: { readonly entry: Entry; readonly onFilter: (value: string) => void }): ReactNode {
  const { operation, target } = entry
  if (target === undefined) return '–'
  const href = RUN_ID.test(target)
    ? runPath(target)
    : operation.startsWith('schedules.')
      ? schedulePath(target)
      : operation.startsWith('builds.')
        ? paths.builds
        : undefined
  if (href !== undefined) {
    return (
      <Link className="mono link" href={href} title={visible(target)}>
        {visible(shortId(target, 40))}
      </Link>
    )
  }
  return (
    <button type="button" className="linklike mono cut" title={visible(target)} onClick={() => onFilter(target)}>
      {visible(shortId(target, 40))}
    </button>
  )
}

function Outcome({ entry: { outcome } }: { readonly entry: Entry }): ReactNode {
  if (outcome === undefined) return <span className="muted">{words.unknown}</span>
  return <span className={outcome === 'done' ? 'completed' : 'failed'}>{outcome}</span>
}
