// Workers and queues: whether there are enough, which of them need a look, and what waits how long.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Icon } from '../components/icon.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Figure, PageFrame, Section } from '../components/page.tsx'
import { Teach } from '../components/states.tsx'
import { Countdown, Ticking } from '../components/time.tsx'
import { runPath, useSegment } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, plural, visible } from '../data/format.ts'
import { paths, workerPath } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { stepLabel } from '../text.ts'
import { pageText } from '../texts/pages.ts'
import { QueueChart } from './fleet/queue-chart.tsx'

type Queue = OperationOutput<'queues.list'>['items'][number]
type Worker = OperationOutput<'workers.list'>['items'][number]

/** A run that a worker works on. */
interface Held {
  readonly worker: string
  readonly runId: string
  readonly workflowId: string
  readonly step?: string
  readonly attempt?: number
}

interface Fleet {
  readonly workers: readonly Worker[]
  readonly queues: readonly Queue[]
  readonly held: readonly Held[]
  readonly at: number
}

/** Runs in progress that are asked who works on them: the newest. */
const ASKED = 100
const LATE_MS = 60_000
const words = pageText.fleet

async function look(): Promise<Fleet> {
  const pawl = client()
  const statuses = ['running', 'waiting', 'compensating'] as const
  const [workers, queues, runs] = await Promise.all([
    pawl.workers(),
    pawl.queues(),
    pawl.list({ status: statuses }, { limit: ASKED }),
  ])
  // A run that waits for a timer or a message is with no worker.
  const busy = runs.items.filter(({ status, waitingFor = '' }) => status !== 'waiting' || /^activity:/.test(waitingFor))
  const ids = busy.map(({ runId }) => runId)
  const { items } = ids.length === 0 ? { items: [] } : await pawl.call('runs.whyMany', { runs: ids })
  const held = items.flatMap((each): Held[] => {
    const run = busy.find(({ runId }) => runId === each.run)
    if (!run || !('why' in each)) return []
    const { runId, workflowId } = run
    const { why } = each
    if (why.reason === 'lease') return [{ worker: why.worker, runId, workflowId }]
    if (why.reason !== 'activity' || why.worker === undefined) return []
    return [{ worker: why.worker, runId, workflowId, step: why.step, attempt: why.attempt }]
  })
  return { workers, queues, held, at: Date.now() }
}

export function FleetPage(): ReactNode {
  const selected = useSegment(1)
  const query = usePolled(['fleet'], look)
  return (
    <PageFrame title={pageText.nav.fleet}>
      <Loaded query={query} rows={10}>
        {(fleet) => {
          const worker = fleet.workers.find((each) => each.worker === selected)
          return fleet.workers.length === 0 && fleet.queues.length === 0 ? (
            <Teach {...words.empty} />
          ) : (
            <>
              <Numbers fleet={fleet} />
              {worker && <Detail worker={worker} held={fleet.held} />}
              <Queues fleet={fleet} />
              <QueueChart queues={fleet.queues} at={fleet.at} />
              <Workers fleet={fleet} selected={selected} />
            </>
          )
        }}
      </Loaded>
    </PageFrame>
  )
}

function Numbers({ fleet: { workers, queues, held } }: { readonly fleet: Fleet }): ReactNode {
  const alive = workers.filter((worker) => worker.alive).length
  const oldest = queues[0]
  return (
    <div className="figures">
      <Figure
        label={words.workers}
        value={count(alive)}
        about={words.aliveOf(count(alive), count(workers.length))}
        kind={alive === 0 ? 'failed' : ''}
      />
      <Figure
        label={words.due}
        value={count(queues.reduce((sum, { due }) => sum + due, 0))}
        about={
          oldest && (
            <>
              {words.oldest} <Ticking from={oldest.oldest} />, {words.inQueue(visible(oldest.queue))}
            </>
          )
        }
      />
      <Figure label={words.busy} value={count(held.length)} about={words.busyAbout} />
    </div>
  )
}

function Queues({ fleet: { queues, workers } }: { readonly fleet: Fleet }): ReactNode {
  const able = (queue: string): number => workers.filter((each) => each.alive && each.queues.includes(queue)).length
  const columns: readonly Column<Queue>[] = [
    { head: words.columns.queue, cell: ({ queue }) => <code>{visible(queue)}</code>, narrow: 'main' },
    { head: words.columns.kind, cell: ({ kind }) => words[kind], width: 150 },
    { head: words.columns.due, cell: ({ due }) => count(due), width: 90, isNumber: true, narrow: 'side' },
    {
      head: words.columns.oldest,
      cell: ({ oldest }) => (
        <span className={Date.now() - oldest.getTime() > LATE_MS ? 'paused' : ''}>
          <Ticking from={oldest} />
        </span>
      ),
      ...{ width: 110, isNumber: true, narrow: 'side' },
    },
    { head: words.columns.worker, cell: ({ queue }) => plural(able(queue), 'worker'), width: 120 },
    {
      head: words.columns.holdsUp,
      cell: (queue) => <HoldsUp queue={queue} able={able(queue.queue)} />,
      narrow: 'below',
    },
  ]
  return (
    <Section title={words.queues} about={words.worst}>
      {queues.length === 0 ? (
        <p className="muted pad">{words.noQueue}</p>
      ) : (
        <DataTable
          label={words.queues}
          columns={columns}
          rows={queues}
          keyOf={({ queue, kind }) => `${kind} ${queue}`}
        />
      )}
    </Section>
  )
}

function HoldsUp({ queue: { oldest }, able }: { readonly queue: Queue; readonly able: number }): ReactNode {
  if (able === 0) {
    return (
      <span className="pill paused">
        <Icon name="workers" small /> {words.noWorker}
      </span>
    )
  }
  return Date.now() - oldest.getTime() > LATE_MS ? words.tooFew(plural(able, 'worker')) : words.keepsUp
}

interface WorkersProps {
  readonly fleet: Fleet
  readonly selected: string
}

function Workers({ fleet: { workers, held }, selected }: WorkersProps): ReactNode {
  const of = ({ worker }: Worker): number => held.filter((each) => each.worker === worker).length
  const rows = workers.toSorted((one, other) => Number(one.alive) - Number(other.alive) || of(other) - of(one))
  const most = Math.max(1, ...rows.map(of))
  const columns: readonly Column<Worker>[] = [
    {
      head: words.columns.worker,
      cell: ({ worker }) => (
        <Link className="mono" href={workerPath(worker)}>
          {visible(worker)}
        </Link>
      ),
      narrow: 'main',
    },
    { head: words.columns.state, cell: (worker) => <State worker={worker} />, width: 110, narrow: 'side' },
    {
      head: words.columns.holds,
      cell: (worker) => (
        <span className="load">
          <i style={{ width: `${(56 * of(worker)) / most}px` }} aria-hidden="true" /> {plural(of(worker), 'run')}
        </span>
      ),
      ...{ width: 150, narrow: 'below' },
    },
    { head: words.columns.queues, cell: ({ queues }) => visible(queues.join(', ')) },
    { head: words.columns.build, cell: (worker) => <Build worker={worker} /> },
    { head: words.columns.code, cell: ({ workflows }) => visible(workflows?.join(', ') ?? words.anything) },
    { head: words.columns.lease, cell: (worker) => <Lease worker={worker} />, width: 160, isNumber: true },
  ]
  return (
    <Section title={words.workers} about={words.first}>
      {rows.length === 0 ? (
        <Teach {...words.empty} />
      ) : (
        <DataTable
          label={words.workers}
          columns={columns}
          rows={rows}
          keyOf={({ worker }) => worker}
          isSelected={({ worker }) => worker === selected}
        />
      )}
    </Section>
  )
}

function State({ worker: { alive } }: { readonly worker: Worker }): ReactNode {
  return (
    <span className={`status ${alive ? 'completed' : 'failed'}`}>
      <Icon name={alive ? 'st-completed' : 'st-cutoff'} />
      <span className="w">{alive ? words.alive : words.silent}</span>
    </span>
  )
}

function Build({ worker: { build, pin } }: { readonly worker: Worker }): ReactNode {
  if (build === undefined) return '–'
  return (
    <>
      <code>{visible(build)}</code>
      {pin && <span className="muted"> {words.pinned}</span>}
    </>
  )
}

function Lease({ worker: { alive, expiresAt } }: { readonly worker: Worker }): ReactNode {
  return (
    <span className="muted">
      {alive ? words.renews : words.silentAbout} <Countdown until={expiresAt} />
    </span>
  )
}

interface DetailProps {
  readonly worker: Worker
  readonly held: readonly Held[]
}

/** One worker: what it works on, and what it has code for. */
function Detail({ worker, held }: DetailProps): ReactNode {
  const own = held.filter((each) => each.worker === worker.worker)
  const code = [...(worker.workflows ?? [words.anything]), ...(worker.activities ?? [])]
  return (
    <Section
      title={`${words.detail} ${visible(worker.worker)}`}
      actions={
        <Link className="btn quiet" href={paths.fleet}>
          {pageText.nav.fleet}
        </Link>
      }
    >
      <div className="worker-facts">
        <p>
          <State worker={worker} /> <Lease worker={worker} />
        </p>
        <p className="two">
          {words.code}: {visible(code.join(', '))}
        </p>
        <h3>{words.holds}</h3>
        {own.length === 0 && <p className="muted">{words.holdsNone}</p>}
        <ul>
          {own.map(({ runId, workflowId, step, attempt }) => (
            <li key={`${runId} ${step}`}>
              <Link className="mono link" href={runPath(runId)}>
                {visible(workflowId)}
              </Link>{' '}
              {step !== undefined && (
                <span className="two">
                  {visible(stepLabel(step))}, {words.attempt} {attempt}
                </span>
              )}
            </li>
          ))}
        </ul>
      </div>
    </Section>
  )
}
