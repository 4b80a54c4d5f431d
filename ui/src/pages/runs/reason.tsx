// Why a run waits, or how it ended, in one line of the list.
import type { Why } from 'pawl/client'
import type { ReactNode } from 'react'
import { brief, visible } from '../../data/format.ts'
import { failureText, waitingText, whyText } from '../../text.ts'
import type { Row } from './use-runs.ts'

/** Runs whose reason the list does not know: it is asked for. */
export function needsWhy({ status, waitingFor }: Row): boolean {
  return (status === 'running' || status === 'pending' || status === 'waiting') && waitingFor === undefined
}

export function Reason({ row, why }: { readonly row: Row; readonly why: Why | undefined }): ReactNode {
  const { status, failure, output, waitingFor, unreadable } = row
  if (unreadable) return <span className="muted">{`cannot be read here: ${unreadable.code}`}</span>
  if (failure) {
    return <span className={status === 'paused' ? 'paused' : 'failed'}>{visible(failureText(failure))}</span>
  }
  if (status === 'completed') return <code className="muted">{output === undefined ? '' : visible(brief(output))}</code>
  if (waitingFor !== undefined && status !== 'running') return visible(waitingText(waitingFor))
  if (status === 'compensating') return 'Undoes its steps'
  if (!why) return ''
  return <span className={why.reason === 'noWorker' ? 'paused' : ''}>{visible(whyText(why))}</span>
}
