// An operation on the runs that were selected one by one: exactly those, each with its outcome.
import { type ReactNode, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { client, codeOf } from '../../data/client.ts'
import { count, plural, visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import type { BulkVerb } from './bulk-verbs.ts'
import type { Row } from './use-runs.ts'

const MANY = 100

interface SelectionProps {
  readonly verb: BulkVerb
  readonly rows: readonly Row[]
  readonly onClose: () => void
}

interface Outcome {
  readonly done: number
  readonly refused: ReadonlyMap<string, string>
}

export function SelectionDialog({ verb, rows: given, onClose }: SelectionProps): ReactNode {
  // The selection when the dialog was opened: nothing that happens meanwhile widens it.
  const [rows] = useState(given)
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const [outcome, setOutcome] = useState<Outcome>()
  const mustType = rows.length > MANY || verb === 'terminate'
  const isReady = (verb !== 'terminate' || reason !== '') && (!mustType || typed === String(rows.length))
  const run = async (): Promise<void> => {
    const refused = new Map<string, string>()
    for (const [index, { runId }] of rows.entries()) {
      await operate(verb, runId, reason).catch((error: unknown) => refused.set(runId, codeOf(error)))
      setOutcome({ done: index + 1 - refused.size, refused: new Map(refused) })
    }
  }
  return (
    <Dialog title={text.bulk.title(text.verbs[verb], plural(rows.length, 'run'))} onClose={onClose}>
      <p className="two">{text.operate[verb]}</p>
      <ul className="sample">
        {rows.map(({ runId, workflowId, status }) => (
          <li key={runId}>
            <StatusMark status={status} word={false} /> <code>{visible(workflowId)}</code>
            <span className="failed">{outcome?.refused.get(runId)}</span>
          </li>
        ))}
      </ul>
      {!outcome && (
        <>
          {(verb === 'cancel' || verb === 'terminate' || verb === 'pause') && (
            <label className="field">
              <span>{text.operate.reason}</span>
              <input className="text" value={reason} onChange={({ target }) => setReason(target.value)} />
            </label>
          )}
          {mustType && (
            <label className="field">
              <span>{text.bulk.type(String(rows.length))}</span>
              <input className="text" value={typed} onChange={({ target }) => setTyped(target.value)} />
            </label>
          )}
        </>
      )}
      {outcome && (
        <p role="status">
          {text.bulk.progress(count(outcome.done), count(rows.length))}
          {outcome.refused.size > 0 && `, ${text.bulk.refused(count(outcome.refused.size))}`}
        </p>
      )}
      <footer>
        {outcome ? (
          <button type="button" className="btn primary" onClick={onClose}>
            {text.close}
          </button>
        ) : (
          <button type="button" className="btn primary" disabled={!isReady} onClick={() => void run()}>
            {`${text.verbs[verb]} ${plural(rows.length, 'run')}`}
          </button>
        )}
      </footer>
    </Dialog>
  )
}

async function operate(verb: BulkVerb, runId: string, reason: string): Promise<void> {
  const run = client().get(runId)
  const given = reason === '' ? undefined : reason
  switch (verb) {
    case 'cancel':
      return run.cancel(given)
    case 'terminate':
      return run.terminate(reason)
    case 'pause':
      return run.pause(given)
    case 'resume':
      return run.resume()
    case 'retry':
      return run.retry()
  }
}
