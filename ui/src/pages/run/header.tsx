// What run this is, and what can be done with it.
import { useQuery } from '@tanstack/react-query'
import type { RunRecord, Timeline } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { CopyButton } from '../../components/copy-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Tags } from '../../components/tags.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { runPath, runsPath, useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { duration, plural, shortId, visible } from '../../data/format.ts'
import { useForbidden } from '../../data/me.ts'
import { useNow } from '../../data/now.ts'
import { text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { budgetOf } from './bars.ts'
import type { Verb } from './operation-dialog.tsx'

interface HeaderProps {
  readonly run: RunRecord
  readonly verbs: readonly Verb[]
  readonly onAct: (verb: Verb) => void
  readonly onCopy: () => void
  /** The status at the moment that is shown, if that is not now. */
  readonly then: string | undefined
}

export function RunHeader({ run, verbs, onAct, onCopy, then }: HeaderProps): ReactNode {
  const { runId, workflowId, name, status, attributes, createdAt, endedAt, queue, parentRunId } = run
  return (
    <div className="head">
      <div className="grow">
        <div className="line">
          <StatusMark status={then ?? status} />
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
      <Operations verbs={verbs} onAct={onAct} onCopy={onCopy} isPast={then !== undefined} />
    </div>
  )
}

/** How each generation began. */
function Generations({ run: { runId, generation } }: { readonly run: RunRecord }): ReactNode {
  const [chosen, choose] = useField('gen')
  const shown = Array.from({ length: Math.min(generation, GENERATIONS) }, (_, index) => generation - index)
  const reasons = useQuery({
    queryKey: ['generations', runId, generation],
    queryFn: () => Promise.all(shown.map((each) => reasonOf(runId, each))),
    enabled: generation > 1,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (generation === 1) return null
  return (
    <label className="row">
      <span className="k">{text.run.generation}</span>
      <select className="text" value={chosen || String(generation)} onChange={({ target }) => choose(target.value)}>
        {shown.map((each, at) => (
          <option key={each} value={each}>
            {`${each} ${reasons.data?.[at] ?? ''}`}
          </option>
        ))}
      </select>
    </label>
  )
}

/** So many generations keep their histories. */
const GENERATIONS = 16

async function reasonOf(run: string, generation: number): Promise<string> {
  const place = { run, generation, type: 'GenerationBegan', before: 3, payloads: false } as const
  const { events } = await client().call('runs.history', place)
  const [began] = events
  const reason = began?.type === 'GenerationBegan' ? began.reason : 'first'
  return runText.generations[reason] ?? reason
}

const DANGEROUS = new Set<Verb>(['cancel', 'terminate'])

interface OperationsProps extends Pick<HeaderProps, 'verbs' | 'onAct' | 'onCopy'> {
  readonly isPast: boolean
}

function Operations({ verbs, onAct, onCopy, isPast }: OperationsProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const lacking = useForbidden()
  const whyNot = (verb: Verb): string | undefined =>
    lacking ?? (isPast && verb !== 'fork' ? runText.past.noActs : undefined)
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
          disabled={whyNot(verb) !== undefined}
          title={whyNot(verb)}
          onClick={() => act(verb)}
        >
          {verb === 'fork' && <Icon name="fork" small />}
          {`${text.verbs[verb]}…`}
        </button>
      ))}
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
                disabled={whyNot(verb) !== undefined}
                title={whyNot(verb)}
                onClick={() => act(verb)}
              >
                {`${text.verbs[verb]}…`}
              </button>
            ))}
            <button
              type="button"
              role="menuitem"
              onClick={() => {
                setOpen(false)
                onCopy()
              }}
            >
              {runText.copies.title}…
            </button>
          </div>
        )}
      </div>
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
