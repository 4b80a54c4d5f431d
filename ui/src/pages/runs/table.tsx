// The table of runs: windowed, live, selectable, and to be used with the keyboard alone.
import { useQuery } from '@tanstack/react-query'
import type { Why } from 'pawl/client'
import { type MouseEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { StatusMark } from '../../components/status-mark.tsx'
import { Tags } from '../../components/tags.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { useNarrow, useWindow } from '../../components/window-rows.ts'
import { runPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { shortId, visible } from '../../data/format.ts'
import { useKeys } from '../../data/keys.ts'
import { text } from '../../text.ts'
import { needsWhy, Reason } from './reason.tsx'
import type { Row } from './use-runs.ts'

const ROW = 32
const ROW_COARSE = 40
const ROW_NARROW = 53

interface TableProps {
  readonly rows: readonly Row[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
  readonly onEnd: () => void
}

export function RunsTable({ rows, selected, onSelect, onEnd }: TableProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const isNarrow = useNarrow()
  const [isCoarse] = useState(() => matchMedia('(pointer: coarse)').matches)
  const rowPx = isNarrow ? ROW_NARROW : isCoarse ? ROW_COARSE : ROW
  const { first, end } = useWindow(box, rows.length, rowPx)
  const shown = rows.slice(first, end)
  const whys = useWhys(shown)
  const [focused, setFocused] = useState('')
  useEffect(() => {
    if (end > rows.length - 20) onEnd()
  }, [end, rows.length])
  const toggle = (row: Row, isSpan: boolean): void => onSelect(toggled(rows, selected, { row, isSpan, from: focused }))
  useRowKeys({ rows, focused, setFocused, toggle, box, rowPx })
  const all = rows.length > 0 && rows.every(({ runId }) => selected.has(runId))
  return (
    <div className="list" ref={box} tabIndex={0} role="region" aria-label={text.runs.list}>
      <table aria-rowcount={rows.length}>
        <Head isAll={all} onAll={() => onSelect(all ? new Set() : new Set(rows.map(({ runId }) => runId)))} />
        <tbody>
          {first > 0 && <Spacer px={first * rowPx} />}
          {shown.map((row, index) => (
            <RunRow
              key={row.runId}
              row={row}
              number={first + index + 1}
              why={whys.get(row.runId)}
              isSelected={selected.has(row.runId)}
              isFocused={focused === row.runId}
              onToggle={(event) => {
                toggle(row, event.shiftKey)
                setFocused(row.runId)
              }}
            />
          ))}
          {end < rows.length && <Spacer px={(rows.length - end) * rowPx} />}
        </tbody>
      </table>
    </div>
  )
}

function Head({ isAll, onAll }: { readonly isAll: boolean; readonly onAll: () => void }): ReactNode {
  const { columns } = text.runs
  return (
    <thead>
      <tr>
        <th className="c-check">
          <input type="checkbox" className="check" aria-label={text.runs.selectAll} checked={isAll} onChange={onAll} />
        </th>
        <th className="c-status">{columns.status}</th>
        <th className="c-id">{columns.run}</th>
        <th className="c-wf">{columns.workflow}</th>
        <th className="c-why">{columns.why}</th>
        <th className="c-attr">{columns.attributes}</th>
        <th className="c-start num">{columns.updated}</th>
        <th className="c-took num">{columns.age}</th>
      </tr>
    </thead>
  )
}

function Spacer({ px }: { readonly px: number }): ReactNode {
  return (
    <tr className="spacer" aria-hidden="true">
      <td colSpan={8} style={{ height: px }} />
    </tr>
  )
}

interface RowProps {
  readonly row: Row
  readonly number: number
  readonly why: Why | undefined
  readonly isSelected: boolean
  readonly isFocused: boolean
  readonly onToggle: (event: MouseEvent) => void
}

function RunRow({ row, number, why, isSelected, isFocused, onToggle }: RowProps): ReactNode {
  const { runId, workflowId, name, status, attributes, createdAt, updatedAt, endedAt, leftFilter } = row
  const id = workflowId === runId ? shortId(runId) : visible(workflowId)
  const classes = [isFocused ? 'focused' : '', leftFilter ? 'left' : ''].join(' ')
  return (
    <tr className={classes} aria-selected={isSelected} aria-rowindex={number} data-run={runId}>
      <td className="c-check">
        <input
          type="checkbox"
          className="check"
          aria-label={text.runs.select(id)}
          checked={isSelected}
          onChange={() => {}}
          onClick={onToggle}
        />
      </td>
      <td className="c-status">
        <StatusMark status={status} />
      </td>
      <td className="c-id">
        <Link className="mono medium" href={runPath(runId)} title={workflowId}>
          {id}
        </Link>
      </td>
      <td className="c-wf two" title={name}>
        {visible(name)}
      </td>
      <td className="c-why">
        <span className="cut" key={status}>
          <Reason row={row} why={why} />
        </span>
      </td>
      <td className="c-attr">
        <Tags attributes={attributes} />
      </td>
      <td className="c-start mono muted num">
        <Time at={updatedAt} />
      </td>
      <td className="c-took mono two num">
        <Ticking from={createdAt} to={endedAt} />
      </td>
    </tr>
  )
}

const SETTLE_MS = 150

/** Why the rows in sight make no progress, asked for once for each state of a row. */
function useWhys(rows: readonly Row[]): ReadonlyMap<string, Why> {
  const wanted = rows.filter(needsWhy).map(({ runId, updatedAt }) => `${runId} ${updatedAt.getTime()}`)
  const key = useSettled(wanted.join(','))
  const { data } = useQuery({
    queryKey: ['whys', key],
    queryFn: async () => {
      const runs = key.split(',').map((each) => each.split(' ')[0] ?? '')
      const { items } = await client().call('runs.whyMany', { runs })
      return new Map(items.flatMap((each) => ('why' in each ? [[each.run, each.why] as const] : [])))
    },
    enabled: key !== '',
    placeholderData: (before) => before,
    refetchInterval: 5_000,
  })
  return data ?? new Map()
}

/** The value, when it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

interface Toggle {
  readonly row: Row
  readonly isSpan: boolean
  readonly from: string
}

function toggled(
  rows: readonly Row[],
  before: ReadonlySet<string>,
  { row, isSpan, from }: Toggle,
): ReadonlySet<string> {
  const next = new Set(before)
  const at = rows.findIndex(({ runId }) => runId === row.runId)
  const other = rows.findIndex(({ runId }) => runId === from)
  if (isSpan && other !== -1) {
    for (const { runId } of rows.slice(Math.min(at, other), Math.max(at, other) + 1)) next.add(runId)
    return next
  }
  if (!next.delete(row.runId)) next.add(row.runId)
  return next
}

interface RowKeys {
  readonly rows: readonly Row[]
  readonly focused: string
  readonly setFocused: (runId: string) => void
  readonly toggle: (row: Row, isSpan: boolean) => void
  readonly box: RefObject<HTMLDivElement | null>
  readonly rowPx: number
}

function useRowKeys({ rows, focused, setFocused, toggle, box, rowPx }: RowKeys): void {
  const [, go] = useLocation()
  const at = rows.findIndex(({ runId }) => runId === focused)
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    setFocused(rows[next]?.runId ?? '')
    const element = box.current
    if (!element) return
    const top = next * rowPx
    const last = top + 2 * rowPx - element.clientHeight
    if (element.scrollTop > top) element.scrollTop = top
    if (element.scrollTop < last) element.scrollTop = last
  }
  const row = rows[at]
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: (event) => row && toggle(row, event.shiftKey),
    Enter: () => row && go(runPath(row.runId)),
  })
}
