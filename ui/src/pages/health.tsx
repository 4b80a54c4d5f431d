// How the server and its store are: each line a fact, and what to do about it.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { CopyButton } from '../components/copy-button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Icon } from '../components/icon.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Answer, PageFrame, Section } from '../components/page.tsx'
import { runsPath } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, duration } from '../data/format.ts'
import { paths } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { pageText } from '../texts/pages.ts'
import { type Retention, RetentionSection } from './health/retention.tsx'

interface Found {
  readonly health: OperationOutput<'health.get'>
  readonly me: OperationOutput<'me.get'>
  readonly due: number
  readonly retention: Retention
  readonly answerMs: number
}

interface Fact {
  readonly name: string
  readonly value: ReactNode
  readonly isWell: boolean
  readonly todo: ReactNode
}

const SLOW_MS = 500
const words = pageText.health

async function look(): Promise<Found> {
  const begun = performance.now()
  const health = await client().health()
  const answerMs = performance.now() - begun
  const [me, queues, { retention }] = await Promise.all([
    client().me(),
    client().queues(),
    client().call('retention.get', {}),
  ])
  return { health, me, retention, answerMs, due: queues.reduce((sum, each) => sum + each.due, 0) }
}

export function HealthPage(): ReactNode {
  const query = usePolled(['health-page'], look)
  return (
    <PageFrame title={pageText.nav.health}>
      <Loaded query={query} rows={8}>
        {(found) => (
          <>
            <Answer title={words[found.health.status]} about={`pawl ${found.health.version}, ${found.health.store}`} />
            <Section title={words.facts}>
              <DataTable label={words.facts} columns={columns} rows={factsOf(found)} keyOf={({ name }) => name} />
            </Section>
            <StoreSettings kind={found.health.store} />
            <RetentionSection retention={found.retention} />
            <Machines />
          </>
        )}
      </Loaded>
    </PageFrame>
  )
}

const columns: readonly Column<Fact>[] = [
  {
    head: words.columns.fact,
    cell: ({ name, isWell }) => (
      <span className={`status ${isWell ? 'completed' : 'paused'}`}>
        <Icon name={isWell ? 'st-completed' : 'st-paused'} />
        <span className="w">{name}</span>
      </span>
    ),
    ...{ width: 240, narrow: 'main' },
  },
  { head: words.columns.value, cell: ({ value }) => value, width: 220, narrow: 'side' },
  { head: words.columns.todo, cell: ({ todo }) => <span className="two">{todo}</span>, narrow: 'below' },
]

function factsOf({ health, me, due, answerMs }: Found): readonly Fact[] {
  const { workers, runs, store, version, status } = health
  const isAlive = status === 'healthy'
  const isFast = answerMs < SLOW_MS
  return [
    { name: words.store, value: <code>{store}</code>, isWell: true, todo: words.well },
    { name: words.answer, value: duration(answerMs), isWell: isFast, todo: isFast ? words.well : words.slow },
    {
      name: words.workers,
      value: `${count(workers.alive)} of ${count(workers.all)}`,
      isWell: isAlive,
      todo: isAlive ? words.well : words.noWorker,
    },
    { name: words.live, value: count(runs.live), isWell: true, todo: words.well },
    {
      name: words.paused,
      value: <Link href={runsPath('status:paused')}>{count(runs.paused)}</Link>,
      isWell: runs.paused === 0,
      todo: runs.paused === 0 ? words.well : words.pausedTodo,
    },
    {
      name: words.due,
      value: <Link href={paths.fleet}>{count(due)}</Link>,
      isWell: due === 0,
      todo: due === 0 ? words.well : words.dueTodo,
    },
    { name: words.version, value: version, isWell: true, todo: words.well },
    { name: words.token, value: `${me.name ?? words.noToken} (${me.scope})`, isWell: true, todo: words.well },
  ]
}

function StoreSettings({ kind }: { readonly kind: string }): ReactNode {
  const kinds: Readonly<Record<string, string>> = words.kinds
  return (
    <Section title={words.settings} about={words.settingsAbout}>
      <p className="pad two">
        <code>{kind}</code> {kinds[kind] ?? words.unknownKind}
      </p>
    </Section>
  )
}

function Machines(): ReactNode {
  return (
    <Section title={words.probes} about={words.metricsAbout}>
      <ul className="pad">
        {['/healthz', '/readyz', '/metrics', '/api/v1/openapi.json'].map((path) => (
          <li key={path} className="row">
            <code>{`${location.origin}${path}`}</code>
            <CopyButton value={`${location.origin}${path}`} />
          </li>
        ))}
      </ul>
    </Section>
  )
}
