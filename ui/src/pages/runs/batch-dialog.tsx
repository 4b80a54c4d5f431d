// A batch for all runs that match the filter: the server lists the runs and keeps the list, the reader sees it, and only
// then it starts.
import { useQuery } from '@tanstack/react-query'
import type { BatchPreview, RunFilter } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Problem } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { client } from '../../data/client.ts'
import { count, plural, visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import type { BulkVerb } from './bulk-verbs.ts'

const LIMIT = 25_000
/** From here on the number of runs is to be typed. */
const MANY = 100

interface BatchProps {
  readonly verb: BulkVerb
  readonly filter: RunFilter
  readonly onClose: () => void
}

export function BatchDialog({ verb, filter, onClose }: BatchProps): ReactNode {
  const [reason, setReason] = useState('')
  const [preview, setPreview] = useState<BatchPreview>()
  const [isStarted, setStarted] = useState(false)
  const [error, setError] = useState<unknown>()
  const attempt = (act: () => Promise<void>) => (): void => {
    setError(undefined)
    act().catch(setError)
  }
  const show = attempt(async () => {
    const options = { operation: verb, limit: LIMIT, ...(reason !== '' && { reason }) }
    setPreview(await client().batches.preview(filter, options))
  })
  const start = attempt(async () => {
    if (!preview) return
    await client().batches.start(preview.id)
    setStarted(true)
  })
  const title = preview ? text.bulk.title(text.verbs[verb], plural(preview.matched, 'run')) : `${text.verbs[verb]}…`
  return (
    <Dialog title={title} onClose={onClose}>
      {error !== undefined && <Problem error={error} />}
      {!preview && (
        <>
          <label className="field">
            <span>{text.bulk.reason}</span>
            <input className="text" value={reason} onChange={({ target }) => setReason(target.value)} />
          </label>
          <p className="muted">{text.bulk.limit}</p>
          <footer>
            <button type="button" className="btn primary" onClick={show}>
              {text.bulk.preview}
            </button>
          </footer>
        </>
      )}
      {preview && !isStarted && <Confirm verb={verb} preview={preview} onStart={start} />}
      {preview && isStarted && <Progress batch={preview.id} onClose={onClose} />}
    </Dialog>
  )
}

interface ConfirmProps {
  readonly verb: BulkVerb
  readonly preview: BatchPreview
  readonly onStart: () => void
}

function Confirm({ verb, preview, onStart }: ConfirmProps): ReactNode {
  const { matched, byStatus, byWorkflow, sample } = preview
  const [typed, setTyped] = useState('')
  const mustType = matched > MANY || verb === 'terminate'
  return (
    <>
      <p className="two">{text.bulk.exactly}</p>
      <Sums title={text.bulk.byStatus} sums={byStatus} />
      <Sums title={text.bulk.byWorkflow} sums={byWorkflow} />
      <h3>{text.bulk.first}</h3>
      <ul className="sample">
        {sample.map(({ runId, workflowId, status }) => (
          <li key={runId}>
            <StatusMark status={status} word={false} /> <code>{visible(workflowId)}</code>
          </li>
        ))}
      </ul>
      {mustType && (
        <label className="field">
          <span>{text.bulk.type(String(matched))}</span>
          <input className="text" value={typed} onChange={({ target }) => setTyped(target.value)} />
        </label>
      )}
      <footer>
        <button
          type="button"
          className="btn primary"
          disabled={matched === 0 || (mustType && typed !== String(matched))}
          onClick={onStart}
        >
          {`${text.verbs[verb]} ${plural(matched, 'run')}`}
        </button>
      </footer>
    </>
  )
}

function Sums({ title, sums }: { readonly title: string; readonly sums: Readonly<Record<string, number>> }): ReactNode {
  return (
    <p>
      <span className="muted">{title}: </span>
      {Object.entries(sums)
        .map(([name, many]) => `${count(many)} ${visible(name)}`)
        .join(', ')}
    </p>
  )
}

function Progress({ batch, onClose }: { readonly batch: string; readonly onClose: () => void }): ReactNode {
  const { data } = useQuery({
    queryKey: ['batch', batch],
    queryFn: () => client().batches.get(batch),
    refetchInterval: ({ state }) => (state.data?.endedAt === undefined ? 500 : false),
  })
  if (!data) return null
  return (
    <>
      <progress max={data.matched} value={data.done + data.failed} aria-label={data.state} />
      <p role="status">
        {`${data.state}: ${text.bulk.progress(count(data.done), count(data.matched))}`}
        {data.failed > 0 && `, ${text.bulk.refused(count(data.failed))}`}
      </p>
      <ul className="sample">
        {data.failures.slice(0, 20).map(({ runId, code }) => (
          <li key={runId}>
            <code>{runId}</code> {code}
          </li>
        ))}
      </ul>
      <footer>
        {data.endedAt === undefined ? (
          <button type="button" className="btn" onClick={() => void client().batches.stop(batch)}>
            {text.bulk.stop}
          </button>
        ) : (
          <button type="button" className="btn primary" onClick={onClose}>
            {text.close}
          </button>
        )}
      </footer>
    </>
  )
}
