// What run this is, and what can be done with it.
import type { RunRecord, Timeline } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { CopyButton } from '../../components/copy-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Tags } from '../../components/tags.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { runPath, runsPath, useField } from '../../data/address.ts'
import { duration, plural, shortId, visible } from '../../data/format.ts'
import { useForbidden } from '../../data/me.ts'
import { useNow } from '../../data/now.ts'
import { text } from '../../text.ts'
import { budgetOf } from './bars.ts'
import type { Verb } from './operation-dialog.tsx'

interface HeaderProps {
  readonly run: RunRecord
  readonly verbs: readonly Verb[]
  readonly onAct: (verb: Verb) => void
}

export function RunHeader({ run, verbs, onAct }: HeaderProps): ReactNode {
  const { runId, workflowId, name, status, attributes, createdAt, endedAt, queue, parentRunId } = run
  return (
    <div className="head">
      <div className="grow">
        <div className="line">
          <StatusMark status={status} />
          <h1 title={workflowId}>{visible(workflowId === runId ? shortId(runId) : workflowId)}</h1>
          <CopyButton value={workflowId} label="Copy the id" />
          <span className="row only-wide">
            <Tags attributes={attributes} />
          </span>
        </div>
        <div className="facts">
          <Link href={runsPath(`workflow:${name}`)}>{visible(name)}</Link>
          <span>
            <span className="k">{text.run.started}</span>
            <Time at={createdAt} />
          </span>
          <span>
            <span className="k">{text.run.took}</span>
            <Ticking from={createdAt} to={endedAt} />
          </span>
          <span className="opt">
            <span className="k">run</span>
            <span className="mono" title={runId}>
              {shortId(runId, 12)}
            </span>
            <CopyButton value={runId} label="Copy the run id" />
          </span>
          <span className="opt">
            <span className="k">{text.run.queue}</span>
            {visible(queue)}
          </span>
          <Generations run={run} />
          {parentRunId !== undefined && (
            <span>
              <span className="k">{text.run.parent}</span>
              <Link className="mono" href={runPath(parentRunId)}>
                {shortId(parentRunId, 12)}
              </Link>
            </span>
          )}
        </div>
      </div>
      <Operations verbs={verbs} onAct={onAct} />
    </div>
  )
}

function Generations({ run: { generation } }: { readonly run: RunRecord }): ReactNode {
  const [chosen, choose] = useField('gen')
  if (generation === 1) return null
  return (
    <label className="row">
      <span className="k">{text.run.generation}</span>
      <select className="text" value={chosen || String(generation)} onChange={({ target }) => choose(target.value)}>
        {Array.from({ length: Math.min(generation, 50) }, (_, index) => generation - index).map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  )
}

const DANGEROUS = new Set<Verb>(['cancel', 'terminate'])

function Operations({ verbs, onAct }: Omit<HeaderProps, 'run'>): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const forbidden = useForbidden()
  const [first, rest] = [verbs.slice(0, 3), verbs.slice(3)]
  const act = (verb: Verb): void => {
    setOpen(false)
    onAct(verb)
  }
  return (
    <div className="ops">
      {first.map((verb) => (
        <button
          key={verb}
          type="button"
          className={DANGEROUS.has(verb) ? 'btn danger' : 'btn'}
          disabled={forbidden !== undefined}
          title={forbidden}
          onClick={() => act(verb)}
        >
          {verb === 'fork' && <Icon name="fork" small />}
          {`${text.verbs[verb]}…`}
        </button>
      ))}
      {rest.length > 0 && (
        <div className="menu-of">
          <button
            type="button"
            className="btn icon"
            aria-label={text.run.more}
            aria-haspopup="menu"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="more" small />
          </button>
          {isOpen && (
            <div className="menu" role="menu" onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}>
              {rest.map((verb) => (
                <button
                  key={verb}
                  type="button"
                  role="menuitem"
                  className={DANGEROUS.has(verb) ? 'danger' : ''}
                  disabled={forbidden !== undefined}
                  title={forbidden}
                  onClick={() => act(verb)}
                >
                  {`${text.verbs[verb]}…`}
                </button>
              ))}
            </div>
          )}
        </div>
      )}
    </div>
  )
}

/** What the time of the run was spent on. */
export function BudgetLine({ timeline, isOver }: { readonly timeline: Timeline; readonly isOver: boolean }): ReactNode {
  const tick = useNow()
  const { work, waiting, backoff, attempts, failed } = budgetOf(timeline, isOver ? timeline.to.getTime() : tick)
  return (
    <div className="budget">
      <span className="bi">
        <i className="work" />
        <span className="k">work</span>
        <b>{duration(work)}</b>
      </span>
      {waiting > 0 && (
        <span className="bi">
          <i className="wait" />
          <span className="k">waiting</span>
          <b>{duration(waiting)}</b>
        </span>
      )}
      {backoff > 0 && (
        <span className="bi">
          <i className="back" />
          <span className="k">backing off</span>
          <b>{duration(backoff)}</b>
        </span>
      )}
      <span className="bi only-wide">
        <b>{plural(attempts, 'attempt')}</b>
        {failed > 0 && <span className="k">{`${failed} failed`}</span>}
      </span>
    </div>
  )
}
