// The graph of a run: every step at its place, coloured by where it stands. A list is one box until it is opened. What
// undoes a step stands beside it.
import { useQuery } from '@tanstack/react-query'
import type { RunRecord, StepRecord } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { useNarrow } from '../../components/window-rows.ts'
import { count, duration, visible } from '../../data/format.ts'
import { useNow } from '../../data/now.ts'
import { runText } from '../../texts/run.ts'
import { type Arrow, type Box, Drawing } from './drawing.tsx'
import { isBegun, statusOfStep } from './step-status.ts'
import { handleOf, type View } from './use-run.ts'

const WIDTH = 184
const HEIGHT = 48
const ITEM = 24
const ITEMS_MOST = 7
/** More steps than this are a list: laying them out takes long, and no screen shows them. */
export const DRAWN_MAX = 300

interface GraphProps {
  readonly run: RunRecord
  readonly steps: readonly StepRecord[]
  readonly view: View
  readonly selected: string
  readonly onSelect: (key: string) => void
}

export default function GraphView({ run, steps, view, selected, onSelect }: GraphProps): ReactNode {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const isNarrow = useNarrow()
  const now = useNow()
  const isPast = view.at !== undefined || run.endedAt !== undefined
  const toggle = (name: string): void => setOpened((before) => toggled(before, name))
  const boxOf = (step: StepRecord): ReactNode => (
    <StepBox {...{ run, step, view, selected, onSelect }} now={isPast ? undefined : now}>
      {step.items && <Opener step={step} isOpen={opened.has(step.step)} onToggle={() => toggle(step.step)} />}
      {opened.has(step.step) && <Items {...{ run, view, selected, onSelect }} list={step.step} />}
    </StepBox>
  )
  if (isNarrow || steps.length > DRAWN_MAX) {
    return (
      <div className="rail" tabIndex={0} role="region" aria-label={runText.graph.region}>
        {steps.length > DRAWN_MAX && (
          <p className="muted">{runText.graph.many(count(steps.length), count(DRAWN_MAX))}</p>
        )}
        <ol>
          {steps.slice(0, 2_000).map((step) => (
            <li key={idOf(step)} className={classOf(step, selected)}>
              {boxOf(step)}
              {step.after && step.after.length > 0 && (
                <span className="muted">{runText.graph.after(visible(step.after.join(', ')))}</span>
              )}
            </li>
          ))}
        </ol>
      </div>
    )
  }
  const boxes = steps.map((step): Box => {
    const shown = Math.min(step.items?.all ?? 0, ITEMS_MOST)
    const height = HEIGHT + (opened.has(step.step) ? Math.max(1, shown) * ITEM + 8 : 0)
    const className = classOf(step, selected)
    return { id: idOf(step), width: WIDTH, height, className, content: boxOf(step) }
  })
  return <Drawing label={runText.graph.region} boxes={boxes} arrows={arrowsOf(steps)} />
}

function toggled(before: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(before)
  if (!next.delete(name)) next.add(name)
  return next
}

/** Steps of the graph have their names as ids; what undoes them, its key. */
function idOf({ step, after, key }: StepRecord): string {
  return after === undefined && key !== undefined ? key : step
}

function classOf(step: StepRecord, selected: string): string {
  const look = step.kind === 'undo' ? 'undo' : step.state.replace(' ', '-')
  const list = step.kind === 'list' ? ' is-list' : ''
  const isSelected = step.key !== undefined && step.key === selected
  return `step-box is-${look}${list}${isSelected ? ' sel' : ''}`
}

function arrowsOf(steps: readonly StepRecord[]): readonly Arrow[] {
  const byName = new Map(steps.filter(({ after }) => after !== undefined).map((step) => [step.step, step]))
  return steps.flatMap((step): Arrow[] => {
    const { rule } = step
    if (step.kind === 'undo') {
      const of = step.step.replace(/^undo /, '')
      return byName.has(of) ? [{ from: of, to: idOf(step), className: 'undo', label: '' }] : []
    }
    return (step.after ?? []).flatMap((from): Arrow[] => {
      const before = byName.get(from)
      if (!before) return []
      const isTaken = before.endedAt !== undefined && isBegun(step)
      const className = isTaken ? 'taken' : 'to-come'
      const label = rule === undefined ? {} : { label: runText.graph.rules[rule] ?? rule }
      return [{ from, to: step.step, className, ...label }]
    })
  })
}

interface StepBoxProps extends Omit<GraphProps, 'steps'> {
  readonly step: StepRecord
  readonly now: number | undefined
  readonly children: ReactNode
}

function StepBox({ run, step, now, selected, onSelect, children }: StepBoxProps): ReactNode {
  const { step: name, kind, state, attempts, key, startedAt, endedAt, after = [] } = step
  const until = endedAt?.getTime() ?? now ?? run.endedAt?.getTime()
  const took = startedAt && until !== undefined ? duration(Math.max(0, until - startedAt.getTime())) : ''
  const more = attempts > 1 ? `${kind}, ${attempts} attempts` : kind
  const isOver = run.endedAt !== undefined && state === 'not started'
  const stateWord = isOver ? runText.graph.neverBegan : runText.graph.states[state]
  return (
    <>
      <button
        type="button"
        className="of-step"
        aria-pressed={key !== undefined && key === selected}
        aria-disabled={key === undefined}
        onClick={() => key !== undefined && onSelect(key)}
      >
        <StatusMark status={statusOfStep(state, kind)} word={false} />
        <span className="n mono cut">{visible(name)}</span>
        <span className="t mono">{took}</span>
        <span className="w cut">{isBegun(step) && state !== 'failed' ? more : `${more}, ${stateWord}`}</span>
        <span className="sr">
          {`${stateWord}${after.length > 0 ? `, ${runText.graph.after(visible(after.join(', ')))}` : ''}`}
        </span>
      </button>
      {children}
    </>
  )
}

interface OpenerProps {
  readonly step: StepRecord
  readonly isOpen: boolean
  readonly onToggle: () => void
}

function Opener({ step: { step, items }, isOpen, onToggle }: OpenerProps): ReactNode {
  const label = isOpen ? runText.graph.close(visible(step)) : runText.graph.open(visible(step))
  return (
    <button type="button" className="opener" aria-expanded={isOpen} title={label} onClick={onToggle}>
      {`${items?.ended} of ${items?.all}`}
      <span className="sr">{label}</span>
      <Icon name={isOpen ? 'minus' : 'plus'} small />
    </button>
  )
}

const ITEMS_SHOWN = 200

interface ItemsProps extends Omit<GraphProps, 'steps'> {
  readonly list: string
}

/** The items of a list. They are read when it is opened. */
function Items({ run, view, list, selected, onSelect }: ItemsProps): ReactNode {
  const { runId } = run
  const { data } = useQuery({
    queryKey: ['run', runId, 'items', list, view],
    queryFn: () => handleOf(runId).steps({ ...view, list }),
    placeholderData: (before) => before,
  })
  const items = data?.slice(0, ITEMS_SHOWN) ?? []
  const isCut = data !== undefined && data.length > ITEMS_SHOWN
  return (
    <ol className="items" aria-busy={data === undefined}>
      {data?.length === 0 && <li className="muted">{runText.graph.notBegun}</li>}
      {items.map(({ step, key, state, kind, attempts }) => (
        <li key={key ?? step}>
          <button
            type="button"
            className="linklike"
            aria-pressed={key === selected}
            onClick={() => key !== undefined && onSelect(key)}
          >
            <StatusMark status={statusOfStep(state, kind)} word={false} />
            <span className="mono">{step.slice(list.length)}</span>
            <span className="muted">{attempts > 1 ? `${attempts} attempts` : runText.graph.states[state]}</span>
          </button>
        </li>
      ))}
      {isCut && <li className="muted">{runText.graph.more(count((data?.length ?? 0) - ITEMS_SHOWN))}</li>}
    </ol>
  )
}
