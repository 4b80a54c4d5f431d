import { useQuery } from '@tanstack/react-query'
import type { RunRecord, StepRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { Problem, Skeleton } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import { handleOf } from './use-run.ts'

const statuses: Readonly<Record<StepRecord['state'], string>> = {
  'not started': 'none',
  delayed: 'waiting',
  waiting: 'waiting',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  'timed out': 'failed',
  cancelled: 'cancelled',
  skipped: 'cancelled',
}

interface StepsProps {
  readonly run: RunRecord
  readonly selected: string
  readonly onSelect: (key: string) => void
}

/** Every step, including graph steps that have not started. */
export function Steps({ run, selected, onSelect }: StepsProps): ReactNode {
  const { runId } = run
  const { data, error, refetch } = useQuery({
    queryKey: ['run', runId, 'steps'],
    queryFn: () => handleOf(runId).steps(),
  })
  if (error) return <Problem error={error} onAgain={() => void refetch()} />
  if (!data) return <Skeleton rows={6} />
  if (data.length === 0) return <p className="state muted">{text.run.noSteps}</p>
  return (
    <div className="list" tabIndex={0} role="region" aria-label={text.run.tabs.steps}>
      <table className="plain">
        <thead>
          <tr>
            <th>State</th>
            <th>Step</th>
            <th>Kind</th>
            <th className="num">Attempts</th>
            <th className="num">Started</th>
            <th className="num">Took</th>
            <th>Failure</th>
          </tr>
        </thead>
        <tbody>
          {data.map(({ step, kind, state, attempts, key, startedAt, endedAt, failure, items }, index) => (
            <tr key={`${key ?? step} ${index}`} aria-selected={key !== undefined && key === selected}>
              <td>
                <StatusMark status={statuses[state]} word={false} />
                <span className="two">{` ${state}`}</span>
              </td>
              <td>
                <button
                  type="button"
                  className="linklike mono"
                  disabled={key === undefined}
                  onClick={() => onSelect(key ?? '')}
                >
                  {visible(step)}
                </button>
                {items && <span className="muted">{` ${items.ended} of ${items.all}`}</span>}
              </td>
              <td className="two">{kind}</td>
              <td className="num">{attempts || ''}</td>
              <td className="num mono muted">{startedAt && <Time at={startedAt} />}</td>
              <td className="num mono">{startedAt && <Ticking from={startedAt} to={endedAt ?? run.endedAt} />}</td>
              <td className="failed" title={failure?.message}>
                {failure && visible(failure.message)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
