// The timeline: a row for each step, wait and child; idle time is folded.
import type { StepRecord, Timeline } from 'pawl/client'
import { type ReactNode, useMemo, useRef } from 'react'
import { Icon } from '../../components/icon.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { useWindow } from '../../components/window-rows.ts'
import { duration, visible } from '../../data/format.ts'
import { useNow } from '../../data/now.ts'
import { changeSettings, useSettings } from '../../data/settings.ts'
import { text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { type Bar, barsOf, hasBody, kindIcon, statusOf, type TimelineRow } from './bars.ts'
import { type Scale, scaleOf } from './scale.ts'

const ROW = 30

interface TimelineProps {
  readonly timeline: Timeline
  readonly steps: readonly StepRecord[] | undefined
  readonly isOver: boolean
  readonly selected: string
  readonly onSelect: (key: string) => void
}

export function TimelineView({ timeline, steps, isOver, selected, onSelect }: TimelineProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const tick = useNow()
  const { foldIdle } = useSettings()
  const now = isOver ? timeline.to.getTime() : Math.max(tick, timeline.to.getTime())
  const rows = useMemo(() => timeline.rows.filter(({ kind }) => kind !== 'mark'), [timeline])
  const marks = useMemo(() => timeline.rows.filter(({ kind }) => kind === 'mark'), [timeline])
  const scale = useScale(timeline, now, foldIdle)
  const { first, end } = useWindow(box, rows.length, ROW)
  const shown = rows.slice(first, end)
  if (rows.length === 0) return <p className="state muted">{text.run.noSteps}</p>
  return (
    <div className="tl" ref={box} tabIndex={0} role="region" aria-label={text.run.tabs.timeline}>
      <div className="tbar">
        <button
          type="button"
          className="btn"
          aria-pressed={foldIdle}
          onClick={() => changeSettings({ foldIdle: !foldIdle })}
        >
          {foldIdle && <Icon name="check" small />}
          {text.run.fold}
        </button>
      </div>
      <div className="chart" role="treegrid" aria-label={text.run.tabs.timeline} aria-rowcount={rows.length}>
        <div className="names">
          <div className="axis" aria-hidden="true">
            <span>{text.operate.step}</span>
          </div>
          <div style={{ height: first * ROW }} className="gap" />
          {shown.map((row, index) => (
            <NameRow key={keyOf(row, first + index)} {...{ row, now, selected, onSelect }} number={first + index + 1} />
          ))}
          <div style={{ height: (rows.length - end) * ROW }} className="gap" />
        </div>
        <div className="bars" aria-hidden="true">
          <Axis scale={scale} from={timeline.from.getTime()} now={isOver ? undefined : now} />
          {marks.map((row, index) => (
            <span key={`mark ${index}`} className="mk ok" style={{ left: `${scale.x(row.from.getTime())}%` }}>
              <b>{visible(row.name)}</b>
            </span>
          ))}
          <div className="axis" />
          <div style={{ height: first * ROW }} className="gap" />
          {shown.map((row, index) => (
            <div key={keyOf(row, first + index)} className={row.key === selected ? 'sel' : ''}>
              <Bars row={row} now={now} scale={scale} />
            </div>
          ))}
          <div style={{ height: (rows.length - end) * ROW }} className="gap" />
        </div>
      </div>
      <ToCome steps={steps} />
      <Legend />
    </div>
  )
}

/** Steps of a graph that have not begun, and what they come after. */
function ToCome({ steps = [] }: Pick<TimelineProps, 'steps'>): ReactNode {
  const some = steps.filter(({ state }) => state === 'not started' || state === 'delayed')
  if (some.length === 0) return null
  return (
    <ul className="to-come" aria-label={text.run.toCome}>
      {some.slice(0, 50).map(({ step, after = [], state }) => (
        <li key={step}>
          <StatusMark status={state === 'delayed' ? 'waiting' : 'none'} word={false} />
          <span className="mono cut">{visible(step)}</span>
          <span className="muted cut">
            {state === 'delayed' ? runText.graph.states.delayed : ''}
            {after.length > 0 && ` ${runText.graph.after(visible(after.join(', ')))}`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function keyOf(row: TimelineRow, index: number): string {
  return `${row.key ?? row.name} ${index}`
}

function useScale(timeline: Timeline, now: number, isFolding: boolean): Scale {
  return useMemo(() => {
    const work = timeline.rows.filter(hasBody).flatMap((row) => {
      return barsOf(row, now).filter(({ look }) => look !== 'backoff')
    })
    const children = timeline.rows.filter(({ kind }) => kind === 'child').flatMap((row) => barsOf(row, now))
    const points = timeline.rows.flatMap(({ from, to }) => [from.getTime(), to?.getTime() ?? now])
    return scaleOf({ from: timeline.from.getTime(), to: now, work, children, points, isFolding })
  }, [timeline, now, isFolding])
}

interface NameProps {
  readonly row: TimelineRow
  readonly now: number
  readonly number: number
  readonly selected: string
  readonly onSelect: (key: string) => void
}

function NameRow({ row, now, number, selected, onSelect }: NameProps): ReactNode {
  const { key = '', name, kind, attempts, items, note } = row
  const more = items ? `${items.ended} of ${items.all}` : attempts > 1 ? `${attempts} attempts` : ''
  const isSelected = key !== '' && key === selected
  return (
    <div role="row" aria-rowindex={number} aria-selected={isSelected} className={isSelected ? 'sel' : ''}>
      <button type="button" role="gridcell" className="name" disabled={key === ''} onClick={() => onSelect(key)}>
        <StatusMark status={statusOf(row, now)} word={false} />
        <span className="mono cut">{visible(name)}</span>
        <Icon name={kindIcon[kind]} small />
        <span className="xx">{more || (kind === 'child' ? '' : visible(note ?? ''))}</span>
      </button>
    </div>
  )
}

function Bars({
  row,
  now,
  scale,
}: {
  readonly row: TimelineRow
  readonly now: number
  readonly scale: Scale
}): ReactNode {
  const bars = barsOf(row, now)
  const { x } = scale
  const last = Math.max(...bars.map(({ to }) => x(to)), 0)
  const length = duration((row.to?.getTime() ?? now) - row.from.getTime())
  return (
    <>
      {bars.map((bar, index) => (
        <BarView key={index} bar={bar} x={x} />
      ))}
      {last < 88 && (
        <span className="l" style={{ left: `calc(${last}% + 6px)` }}>
          {length}
        </span>
      )}
      {last >= 88 && x(row.from.getTime()) > 14 && (
        <span className="l" style={{ right: `calc(${100 - x(row.from.getTime())}% + 8px)` }}>
          {length}
        </span>
      )}
    </>
  )
}

function BarView({ bar, x }: { readonly bar: Bar; readonly x: Scale['x'] }): ReactNode {
  const left = x(bar.from)
  const width = x(bar.to) - left
  return (
    <span
      className={`b ${bar.look}`}
      style={{ left: `${left}%`, width: `max(${width}%, 3px)` }}
      title={visible(bar.title)}
    >
      {bar.attempt !== undefined && width > 2.5 && <em>{bar.attempt}</em>}
    </span>
  )
}

interface AxisProps {
  readonly scale: Scale
  readonly from: number
  readonly now: number | undefined
}

function Axis({ scale, from, now }: AxisProps): ReactNode {
  const { x, folds, ticks } = scale
  const isFree = (at: number): boolean => now === undefined || x(now) - x(at) > 5
  return (
    <>
      {ticks.map((at) => (
        <span key={at} className="tick" style={{ left: `${x(at)}%` }}>
          {isFree(at) && <b>{`+${duration(at - from)}`}</b>}
        </span>
      ))}
      {now !== undefined && (
        <span className="tick now" style={{ left: `${x(now)}%` }}>
          <b>{text.run.now}</b>
        </span>
      )}
      {folds.map((fold) => (
        <span
          key={fold.from}
          className="fold"
          style={{ left: `${fold.at}%`, width: `${fold.width}%` }}
          title={text.run.idle(duration(fold.to - fold.from))}
        >
          <b>{duration(fold.to - fold.from)}</b>
        </span>
      ))}
    </>
  )
}

function Legend(): ReactNode {
  const looks = [
    ['done', 'work'],
    ['run', 'runs now'],
    ['fail', 'attempt that failed'],
    ['backoff', 'backs off'],
    ['wait', 'waits'],
    ['child', 'child run'],
    ['undo', 'undoes'],
  ] as const
  return (
    <div className="key" aria-hidden="true">
      {looks.map(([look, what]) => (
        <span key={look}>
          <b className={`b ${look}`} />
          {what}
        </span>
      ))}
    </div>
  )
}
