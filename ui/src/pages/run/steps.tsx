import type { RunRecord, StepRecord } from 'pawl/client'
import { type ReactNode, useRef } from 'react'
import { Skeleton } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { useNarrow, useWindow } from '../../components/window-rows.ts'
import { visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import { statusOfStep } from './step-status.ts'

const ROW = 33
const ROW_NARROW = 43

interface StepsProps {
  readonly run: RunRecord
  readonly steps: readonly StepRecord[] | undefined
  /** When the moment that is shown was; undefined for now. */
  readonly until: Date | undefined
  readonly selected: string
  readonly onSelect: (key: string) => void
}

/** Every step, including graph steps that have not started. Only the rows in sight are in the page. */
export function Steps({ steps, until, selected, onSelect }: StepsProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const row = useNarrow() ? ROW_NARROW : ROW
  const { first, end } = useWindow(box, steps?.length ?? 0, row, steps !== undefined)
  if (!steps) return <Skeleton rows={6} />
  if (steps.length === 0) return <p className="state muted">{text.run.noSteps}</p>
  return (
    <div className="list" ref={box} tabIndex={0} role="region" aria-label={text.run.tabs.steps}>
      <table className="plain fixed" aria-rowcount={steps.length + 1}>
        <thead>
          <tr>
            <th>State</th>
            <th>Step</th>
            <th className="only-wide">Kind</th>
            <th className="num only-wide">Attempts</th>
            <th className="num">Started</th>
            <th className="num">Took</th>
            <th className="only-wide">Failure</th>
          </tr>
        </thead>
        <tbody>
          <tr className="gap" aria-hidden="true" style={{ height: first * row }} />
          {steps.slice(first, end).map((step, index) => (
            <StepRow
              key={`${step.key ?? step.step} ${first + index}`}
              {...{ step, until, selected, onSelect }}
              number={first + index + 2}
            />
          ))}
          <tr className="gap" aria-hidden="true" style={{ height: (steps.length - end) * row }} />
        </tbody>
      </table>
    </div>
  )
}

interface RowProps extends Pick<StepsProps, 'until' | 'selected' | 'onSelect'> {
  readonly step: StepRecord
  readonly number: number
}

function StepRow({ step: record, until, selected, onSelect, number }: RowProps): ReactNode {
  const { step, kind, state, attempts, key, startedAt, endedAt, failure, items } = record
  return (
    <tr aria-rowindex={number} aria-selected={key !== undefined && key === selected}>
      <td className="cut">
        <StatusMark status={statusOfStep(state, kind)} word={false} />
        <span className="two">{` ${state}`}</span>
      </td>
      <td className="cut">
        <button
          type="button"
          className="linklike mono"
          disabled={key === undefined}
          title={visible(step)}
          onClick={() => onSelect(key ?? '')}
        >
          {visible(step)}
        </button>
        {items && <span className="muted">{` ${items.ended} of ${items.all}`}</span>}
      </td>
      <td className="two only-wide">{kind}</td>
      <td className="num only-wide">{attempts || ''}</td>
      <td className="num mono muted">{startedAt && <Time at={startedAt} />}</td>
      <td className="num mono">{startedAt && <Ticking from={startedAt} to={endedAt ?? until} />}</td>
      <td className="failed cut only-wide" title={failure && visible(failure.message)}>
        {failure && visible(failure.message)}
      </td>
    </tr>
  )
}
