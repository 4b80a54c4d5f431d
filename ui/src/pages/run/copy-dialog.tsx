// Copies of a run: commands, requests, a test, its history.
import { useQuery } from '@tanstack/react-query'
import type { HistoryEvent, RunRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { CommandList } from '../../components/command-list.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { download } from '../../components/download.ts'
import { Problem } from '../../components/states.tsx'
import { client } from '../../data/client.ts'
import { count, jsonOf, shellWord, visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { startCommand, startRequest, testOf } from './copies.ts'

const words = runText.copies
/** How many events are read for a test. */
const READ_MAX = 5_000

async function eventsOf({ runId }: RunRecord): Promise<readonly HistoryEvent[]> {
  const events: HistoryEvent[] = []
  let after = -1
  for (;;) {
    const page = await client().call('runs.history', { run: runId, after, limit: 1_000 })
    events.push(...page.events)
    if (page.next === undefined || events.length >= READ_MAX) return events
    after = page.next
  }
}

export function CopyDialog({ run, onClose }: { readonly run: RunRecord; readonly onClose: () => void }): ReactNode {
  const { runId, updatedAt } = run
  const { data, error } = useQuery({
    queryKey: ['copy', runId, updatedAt.getTime()],
    queryFn: () => eventsOf(run),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const lines = [
    [words.start, startCommand(run)],
    [words.startCurl, startRequest(run, location.origin)],
    [words.show, `pawl run ${shellWord(runId)}`],
  ] as const
  const test = data && testOf(run, data)
  return (
    <Dialog title={words.title} onClose={onClose} kind="wide">
      <p className="two">{words.about}</p>
      <CommandList lines={lines} />
      {error && <Problem error={error} />}
      {!data && !error && <p className="muted">{words.reading}</p>}
      {data && test !== undefined && (
        <figure className="value" aria-label={words.test}>
          <figcaption>
            <h3>{words.test}</h3>
            <span className="grow" />
            <CopyButton value={test} label={`${text.copy}: ${words.test}`} />
          </figcaption>
          <p className="two">{data.length >= READ_MAX ? words.cut(count(data.length)) : words.testAbout}</p>
          <pre className="json test" tabIndex={0}>
            {visible(test).replaceAll('␊', '\n')}
          </pre>
        </figure>
      )}
      <footer>
        {data && (
          <button type="button" className="btn" onClick={() => download(`${runId}.json`, jsonOf(data))}>
            {words.history}
          </button>
        )}
        <button type="button" className="btn" onClick={onClose}>
          {text.close}
        </button>
      </footer>
    </Dialog>
  )
}
