// Why the run makes no progress, and the one control that resolves it. Below it stands the same as a command.
import { type RunRecord, signal, type Why } from 'pawl/client'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { CopyButton } from '../../components/copy-button.tsx'
import { FailureView } from '../../components/failure-view.tsx'
import { Icon } from '../../components/icon.tsx'
import { Countdown, Time } from '../../components/time.tsx'
import { toast } from '../../components/toasts.tsx'
import { runPath } from '../../data/address.ts'
import { exactClock, shellWord, visible } from '../../data/format.ts'
import { useForbidden } from '../../data/me.ts'
import { settings } from '../../data/settings.ts'
import { text, whyText } from '../../text.ts'
import type { Verb } from './operation-dialog.tsx'
import { handleOf } from './use-run.ts'

interface WhyBarProps {
  readonly run: RunRecord
  readonly why: Why
  readonly onAct: (verb: Verb) => void
}

const icons: Readonly<Record<Why['reason'], string>> = {
  ended: 'st-completed',
  ready: 'st-running',
  pending: 'st-pending',
  timer: 'k-timer',
  signal: 'k-signal',
  webhook: 'k-signal',
  condition: 'st-waiting',
  child: 'k-child',
  activity: 'k-activity',
  backoff: 'st-waiting',
  completion: 'st-waiting',
  moving: 'st-waiting',
  lease: 'st-running',
  noWorker: 'workers',
  paused: 'st-paused',
}

/** Whose turn it is: the colour of the bar. */
function lookOf(run: RunRecord, why: Why): string {
  if (why.reason === 'ended') return run.status
  if (why.reason === 'paused' || why.reason === 'noWorker') return 'paused'
  if (why.reason === 'activity' || why.reason === 'lease' || why.reason === 'ready') return 'running'
  return 'waiting'
}

export function WhyBar({ run, why, onAct }: WhyBarProps): ReactNode {
  const look = lookOf(run, why)
  const isOver = why.reason === 'ended' && run.status !== 'moved'
  const icon = isOver ? `st-${run.status}` : icons[why.reason]
  return (
    <section className={`why look-${look}`} aria-label={text.run.why}>
      <Icon name={icon} />
      <div aria-live="polite">
        <p className="say">{visible(whyText(why))}</p>
        <More why={why} />
      </div>
      <div className="act">
        <Control run={run} why={why} onAct={onAct} />
      </div>
      {why.reason !== 'signal' && <Suggestion why={why} />}
    </section>
  )
}

function More({ why }: { readonly why: Why }): ReactNode {
  if (why.reason === 'child') {
    return (
      <p className="more">
        <Link className="mono" href={runPath(why.runId)}>
          {why.runId}
        </Link>
      </p>
    )
  }
  if (why.reason === 'paused' && why.note !== undefined) return <p className="more">{visible(why.note)}</p>
  if ((why.reason === 'paused' || why.reason === 'backoff' || why.reason === 'ended') && why.failure) {
    return why.reason === 'ended' ? null : <FailureView failure={why.failure} />
  }
  return <Until why={why} />
}

const untils: Partial<Readonly<Record<Why['reason'], string>>> = {
  timer: 'until',
  signal: 'it gives up waiting at',
  webhook: 'it gives up waiting at',
  condition: 'it gives up waiting at',
  completion: 'it gives up waiting at',
  activity: 'if the worker is dead, another takes over at',
  lease: 'its lease lasts until',
  backoff: 'next attempt at',
}

function Until({ why }: { readonly why: Why }): ReactNode {
  if (!('until' in why) || why.until === undefined) return null
  return (
    <p className="more">
      {untils[why.reason] ?? 'until'} <Time at={why.until} />, <Countdown until={why.until} />
    </p>
  )
}

function Control({ run, why, onAct }: WhyBarProps): ReactNode {
  const forbidden = useForbidden()
  const button = (verb: Verb): ReactNode => (
    <button
      type="button"
      className="btn primary"
      disabled={forbidden !== undefined}
      title={forbidden}
      onClick={() => onAct(verb)}
    >
      {`${text.verbs[verb]}…`}
    </button>
  )
  switch (why.reason) {
    case 'signal':
      return <SignalForm run={run} name={why.name} />
    case 'pending':
      return button('trigger')
    case 'paused':
      return button('resume')
    case 'ended':
      // A saga that has undone its steps cannot be retried: then the suggestion is another.
      if (run.status !== 'failed') return null
      return button(why.suggestion?.includes('pawl retry') === false ? 'reset' : 'retry')
    default:
      return null
  }
}

function SignalForm({ run, name }: { readonly run: RunRecord; readonly name: string }): ReactNode {
  const [payload, setPayload] = useState('{}')
  const [askedAt, setAskedAt] = useState<Date>()
  const forbidden = useForbidden()
  const isValid = parsed(payload) !== undefined
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const value = parsed(payload)
    if (!value) return
    setAskedAt(new Date())
    try {
      await handleOf(run.runId).signal(signal<unknown>(name), value.value)
      toast(text.operate.sent)
    } catch (error) {
      setAskedAt(undefined)
      toast(String((error as Error).message), { isError: true })
    }
  }
  const command = `pawl signal ${shellWord(run.workflowId)} ${shellWord(name)} ${shellWord(payload)}`
  return (
    <>
      <form className="signal" onSubmit={(event) => void send(event)}>
        <label className="field">
          <span>{text.run.payload}</span>
          <input
            className={isValid ? 'text mono' : 'text mono bad'}
            value={payload}
            spellCheck={false}
            aria-invalid={!isValid}
            onChange={({ target }) => setPayload(target.value)}
          />
        </label>
        <button
          type="submit"
          className="btn primary"
          disabled={!isValid || askedAt !== undefined || forbidden !== undefined}
          title={forbidden}
        >
          {askedAt ? text.run.asked(exactClock(askedAt, settings().utc).slice(0, 8)) : text.run.send}
        </button>
      </form>
      <div className="cmd">
        <code className="cut">{command}</code>
        <CopyButton value={command} label={text.operate.cli} />
      </div>
    </>
  )
}

/** Nothing at all is `undefined`. */
function parsed(payload: string): { readonly value: unknown } | undefined {
  if (payload.trim() === '') return { value: undefined }
  try {
    return { value: JSON.parse(payload) as unknown }
  } catch {
    return undefined
  }
}

function Suggestion({ why }: { readonly why: Why }): ReactNode {
  if (why.suggestion === undefined) return null
  return why.suggestion.split('\n').map((line) => {
    const command = /\bpawl .*$/.exec(line)?.[0]
    const words = command === undefined ? line : line.slice(0, -command.length)
    return (
      <div className="cmd" key={line}>
        <span className="cut">
          {visible(words)}
          {command !== undefined && <code>{visible(command)}</code>}
        </span>
        {command !== undefined && <CopyButton value={command} label={text.operate.cli} />}
      </div>
    )
  })
}
