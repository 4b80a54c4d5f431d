// Which runs, why they wait, how they ended; and operations on many of them.
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Icon } from '../components/icon.tsx'
import { openPalette, Top } from '../components/shell.tsx'
import { StartLink } from '../components/start-link.tsx'
import { Problem, Skeleton, Teach } from '../components/states.tsx'
import { useField } from '../data/address.ts'
import { partsOf, textOf } from '../data/filter.ts'
import { count } from '../data/format.ts'
import { useKeys } from '../data/keys.ts'
import { text } from '../text.ts'
import { BulkBar } from './runs/bulk-bar.tsx'
import { FilterBar, FilterProblems } from './runs/filter-bar.tsx'
import { Histogram } from './runs/histogram.tsx'
import { SavedViews, useSavedViews, ViewOperations } from './runs/saved-views.tsx'
import { RunsTable } from './runs/table.tsx'
import { type RunList, useRuns } from './runs/use-runs.ts'
import { NeedsAPerson, Views } from './runs/views.tsx'

export function RunsPage(): ReactNode {
  const [query, setQuery] = useField('q')
  const list = useRuns(query)
  const saved = useSavedViews()
  const field = useRef<HTMLInputElement>(null)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isAll, setAll] = useState(false)
  useEffect(() => {
    setSelected(new Set())
    setAll(false)
    document.title = `${text.runs.title} · pawl`
  }, [query])
  const clear = (): void => {
    setSelected(new Set())
    setAll(false)
  }
  useKeys({
    '/': () => field.current?.focus(),
    '.': list.showNewer,
    '*': () => {
      setAll(true)
      setSelected(new Set(list.rows.map(({ runId }) => runId)))
    },
    Escape: clear,
  })
  const workflows = [...new Set(list.rows.map(({ name }) => name))]
  const change = (next: string): void => setQuery(next, { push: true })
  return (
    <>
      <Top actions={<StartLink />}>
        <h1>{text.runs.title}</h1>
      </Top>
      <NeedsAPerson />
      <Views query={query}>
        <SavedViews query={query} views={saved} />
      </Views>
      <div className="filter">
        <FilterBar query={query} problems={list.problems} onChange={change} workflows={workflows} field={field} />
        {list.problems.size === 0 && <ViewOperations query={query} views={saved} />}
        <Newer list={list} />
      </div>
      <FilterProblems problems={list.problems} />
      {list.problems.size === 0 && list.rows.length > 0 && (
        <Histogram filter={list.filter} query={query} onSpan={(from, to) => change(withSpan(query, from, to))} />
      )}
      <div className="wrap">
        <Rows list={list} query={query} onQuery={change} selected={selected} onSelect={setSelected} />
        {selected.size > 0 && (
          <BulkBar
            rows={list.rows.filter(({ runId }) => selected.has(runId))}
            filter={list.filter}
            total={list.counts?.count}
            isAll={isAll}
            onAll={() => setAll(true)}
            onClear={clear}
          />
        )}
      </div>
    </>
  )
}

/** The query, with this time of the start instead of the one that it had. */
function withSpan(query: string, from: Date, to: Date): string {
  const others = partsOf(query).filter(({ key }) => key !== 'started')
  return `${textOf(others)} started:${from.toISOString()}..${to.toISOString()}`.trim()
}

function Newer({ list }: { readonly list: RunList }): ReactNode {
  if (list.newer === 0) return list.counts && <span className="muted nowrap">{`${count(list.counts.count)} runs`}</span>
  return (
    <button type="button" className="btn newer" onClick={list.showNewer}>
      {text.runs.newer(count(list.newer))} <kbd>.</kbd>
    </button>
  )
}

interface RowsProps {
  readonly list: RunList
  readonly query: string
  readonly onQuery: (query: string) => void
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}

function Rows({ list, query, onQuery, selected, onSelect }: RowsProps): ReactNode {
  if (list.error !== null && list.rows.length === 0) return <Problem error={list.error} onAgain={list.again} />
  if (list.isLoading) return <Skeleton />
  if (list.rows.length > 0) {
    return <RunsTable rows={list.rows} selected={selected} onSelect={onSelect} onEnd={list.loadMore} />
  }
  if (query === '') {
    return (
      <Teach {...text.runs.empty}>
        <button type="button" className="btn" onClick={openPalette}>
          <Icon name="search" small />
          {text.find}
        </button>
      </Teach>
    )
  }
  const parts = partsOf(query)
  return (
    <Teach {...text.runs.filtered}>
      <p className="row">
        {parts.map((part) => (
          <button
            key={part.text}
            type="button"
            className="btn"
            onClick={() => onQuery(textOf(parts.filter((each) => each !== part)))}
          >
            {text.runs.remove(part.text)}
          </button>
        ))}
      </p>
    </Teach>
  )
}
