// A step: its attempts, newest first, its input and result, and what can be done from here.
import { useQuery } from '@tanstack/react-query'
import type { HistoryEvent, RunRecord, Timeline } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { FailureView } from '../../components/failure-view.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { runPath } from '../../data/address.ts'
import { duration, exactClock, visible } from '../../data/format.ts'
import { useForbidden } from '../../data/me.ts'
import { useNow } from '../../data/now.ts'
import { useSettings } from '../../data/settings.ts'
import { stepLabel, text } from '../../text.ts'
import { hasBody, statusOf, type TimelineRow } from './bars.ts'
import { useGeneration } from './history.tsx'
import type { Verb } from './operation-dialog.tsx'
import { Panel } from './panel.tsx'
import { stepEvents } from './step-events.ts'
import { useView } from './use-run.ts'

interface StepProps {
  readonly run: RunRecord
  readonly timeline: Timeline
  readonly step: string
  readonly onAct: (verb: Verb) => void
  readonly onClose: () => void
}

export function StepPanel({ run, timeline, step: given, onAct, onClose }: StepProps): ReactNode {
  const now = useNow()
  // A link may name the step by its name.
  const row = timeline.rows.find(({ key }) => key === given) ?? timeline.rows.find(({ name }) => name === given)
  const step = row?.key ?? given
  const { at = Number.POSITIVE_INFINITY } = useView()
  const events = useStepEvents(run, step, row).filter(({ seq }) => seq <= at)
  const value = (types: readonly string[], field: 'input' | 'result'): unknown => {
    const found = events.findLast(({ type }) => types.includes(type)) as Readonly<Record<string, unknown>> | undefined
    return found?.[field]
  }
  const input = value(['StepStarted', 'ChildStarted'], 'input')
  const result = value(['StepCompleted', 'ChildCompleted'], 'result')
  const child = row?.kind === 'child' ? row.note : undefined
  return (
    <Panel
      title={row?.name ?? stepLabel(step)}
      more={row && <StatusMark status={statusOf(row, now)} word={false} />}
      onClose={onClose}
    >
      {row && hasBody(row) && row.kind !== 'list' && <Attempts row={row} />}
      {!row && <Failures events={events} />}
      {row && !hasBody(row) && row.failure && (
        <section>
          <FailureView failure={row.failure} />
        </section>
      )}
      {child !== undefined && (
        <section>
          <h3>Child run</h3>
          <Link className="mono" href={runPath(child)}>
            {child}
          </Link>
        </section>
      )}
      {result !== undefined && (
        <section>
          <JsonView key={`result ${step}`} value={result} label={text.run.result} />
        </section>
      )}
      {input !== undefined && (
        <section>
          <JsonView key={`input ${step}`} value={input} label={text.run.input} />
        </section>
      )}
      <section>
        <dl className="kv">
          <dt>key</dt>
          <dd className="mono">{visible(step)}</dd>
          <dt>kind</dt>
          <dd>{row?.kind}</dd>
        </dl>
        <Acts onAct={onAct} />
      </section>
    </Panel>
  )
}

/** Of a step without a row, such as an item of a list: how its attempts failed. */
function Failures({ events }: { readonly events: readonly HistoryEvent[] }): ReactNode {
  return events.map((event) => {
    if (event.type !== 'StepRetried' && event.type !== 'StepFailed' && event.type !== 'ChildFailed') return null
    return (
      <section key={event.seq}>
        <FailureView failure={event.failure} />
      </section>
    )
  })
}

function Acts({ onAct }: Pick<StepProps, 'onAct'>): ReactNode {
  const forbidden = useForbidden()
  const button = (verb: Verb, label: string): ReactNode => (
    <button
      type="button"
      className="btn"
      disabled={forbidden !== undefined}
      title={forbidden}
      onClick={() => onAct(verb)}
    >
      {label}
    </button>
  )
  return (
    <p className="row acts">
      {button('fork', text.run.forkHere)}
      {button('reset', text.run.resetHere)}
    </p>
  )
}

function Attempts({ row }: { readonly row: TimelineRow }): ReactNode {
  const now = useNow()
  const { utc } = useSettings()
  const { retries, outcome, failure, from, to } = row
  const last = retries.at(-1)
  const begun = last ? last.until : from
  const isBackingOff = outcome === 'open' && begun.getTime() > now
  return (
    <section>
      <h3>{text.run.attempts}</h3>
      {!isBackingOff && (
        <div className="att">
          <StatusMark status={statusOf(row, now)} word={false} />
          <span>
            <b className="medium">{retries.length + 1}</b>{' '}
            {outcome === 'open' ? 'runs' : `${outcome} after ${duration((to?.getTime() ?? now) - begun.getTime())}`}
          </span>
          <span className="mono muted">{exactClock(begun, utc)}</span>
          {failure && (
            <div className="sub">
              <FailureView failure={failure} />
            </div>
          )}
        </div>
      )}
      {retries.toReversed().map(({ at, attempt, failure: of, until }) => (
        <div key={attempt} className="att">
          <StatusMark status="failed" word={false} />
          <span>
            <b className="medium">{attempt}</b>
            {` failed, tried again after ${duration(until.getTime() - at.getTime())}`}
          </span>
          <span className="mono muted">{exactClock(at, utc)}</span>
          <div className="sub">
            <FailureView failure={of} />
          </div>
        </div>
      ))}
    </section>
  )
}

/** The events of the step that hold its values. */
function useStepEvents(run: RunRecord, step: string, row: TimelineRow | undefined): readonly HistoryEvent[] {
  const { runId } = run
  const generation = useGeneration(run)
  const { data } = useQuery({
    queryKey: ['step', runId, generation, step, row?.outcome],
    queryFn: () => stepEvents({ run: runId, generation }, step),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ?? []
}
