// Workflows that are known: who can run them, how their runs do, and the versions of their definitions.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type Column, DataTable } from '../components/data-table.tsx'
import { JsonView } from '../components/json-view.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageFrame, Section } from '../components/page.tsx'
import { StartLink } from '../components/start-link.tsx'
import { Teach } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { runsPath, useSegment } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, plural, visible } from '../data/format.ts'
import { definitionPath, paths } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { pageText } from '../texts/pages.ts'
import { Difference } from './definitions/difference.tsx'

type Workflow = OperationOutput<'workflows.list'>['items'][number]

/** A workflow, and how many runs it has. */
interface Row extends Workflow {
  readonly all: number
  readonly live: number
  readonly failed: number
}

const EVERY_MS = 15_000
const GROUPS = 200
const LIVE = ['pending', 'running', 'waiting', 'paused', 'compensating'] as const
const words = pageText.definitions

async function look(): Promise<readonly Row[]> {
  const pawl = client()
  const by = { by: 'workflow', limit: GROUPS } as const
  const [{ items }, all, live, failed] = await Promise.all([
    pawl.call('workflows.list', {}),
    pawl.groups({}, by),
    pawl.groups({ status: LIVE }, by),
    pawl.groups({ status: 'failed' }, by),
  ])
  const of = (groups: typeof all, name: string): number => groups.find(({ key }) => key === name)?.count ?? 0
  const unnamed = all.filter(({ key }) => !key.startsWith('pawl.') && !items.some(({ name }) => name === key))
  const known: readonly Workflow[] = [...items, ...unnamed.map(({ key }) => ({ name: key, workers: 0 }))]
  return known.map((each) => ({
    ...each,
    ...{ all: of(all, each.name), live: of(live, each.name), failed: of(failed, each.name) },
  }))
}

export function DefinitionsPage(): ReactNode {
  const name = useSegment(1)
  const query = usePolled(['definitions'], look, { everyMs: EVERY_MS })
  const crumbs = (
    <>
      <Link href={paths.definitions}>{pageText.nav.definitions}</Link>
      <span className="sep">/</span>
      <h1 className="cut">{visible(name)}</h1>
    </>
  )
  return (
    <PageFrame
      title={pageText.nav.definitions}
      crumbs={name === '' ? undefined : crumbs}
      actions={name === '' ? undefined : <StartLink workflow={name} />}
    >
      <Loaded query={query} rows={8}>
        {(rows) => {
          if (name !== '') return <One name={name} row={rows.find((row) => row.name === name)} />
          return rows.length === 0 ? (
            <Teach {...words.empty} />
          ) : (
            <DataTable label={words.list} columns={columns} rows={rows} keyOf={(row) => row.name} />
          )
        }}
      </Loaded>
    </PageFrame>
  )
}

function quoted(name: string): string {
  return /[\s,]/.test(name) ? `"${name}"` : name
}

const columns: readonly Column<Row>[] = [
  {
    head: words.columns.name,
    cell: ({ name }) => (
      <Link className="mono medium" href={definitionPath(name)}>
        {visible(name)}
      </Link>
    ),
    narrow: 'main',
  },
  { head: words.columns.version, cell: ({ version }) => version ?? words.code, width: 100 },
  {
    head: words.columns.workers,
    cell: ({ workers }) => (workers === 0 ? <span className="paused">0</span> : count(workers)),
    ...{ width: 100, isNumber: true },
  },
  {
    head: words.columns.live,
    cell: ({ name, live }) => (
      <Link href={runsPath(`workflow:${quoted(name)} status:${LIVE.join(',')}`)}>
        {count(live)} <span className="only-narrow">{words.liveShort}</span>
      </Link>
    ),
    ...{ width: 120, isNumber: true, narrow: 'side' },
  },
  {
    head: words.columns.failed,
    cell: ({ name, failed }) => (
      <Link className={failed > 0 ? 'failed' : ''} href={runsPath(`workflow:${quoted(name)} status:failed`)}>
        {count(failed)}
      </Link>
    ),
    ...{ width: 100, isNumber: true },
  },
  {
    head: words.columns.all,
    cell: ({ name, all }) => <Link href={runsPath(`workflow:${quoted(name)}`)}>{count(all)}</Link>,
    ...{ width: 100, isNumber: true },
  },
]

function One({ name, row }: { readonly name: string; readonly row: Row | undefined }): ReactNode {
  const statuses = usePolled(['statuses', name], () => client().groups({ workflow: name }, { by: 'status' }))
  const versions = usePolled(['versions', name], () => client().definitions(name), { everyMs: EVERY_MS })
  return (
    <>
      <Section title={words.byStatus} about={plural(row?.workers ?? 0, 'living worker')}>
        <p className="pad row wrapping">
          {statuses.data?.map(({ key, count: many }) => (
            <Link key={key} className="sum" href={runsPath(`workflow:${quoted(name)} status:${key}`)}>
              <StatusMark status={key} /> {count(many)}
            </Link>
          ))}
          {statuses.data?.length === 0 && <span className="muted">–</span>}
        </p>
      </Section>
      {row?.input !== undefined && (
        <Section title={words.schema}>
          <div className="pad">
            <JsonView value={row.input} label={words.schema} />
          </div>
        </Section>
      )}
      <Loaded query={versions}>{(found) => <Versions versions={found} />}</Loaded>
    </>
  )
}

type Version = OperationOutput<'definitions.get'>['items'][number]

function Versions({ versions }: { readonly versions: readonly Version[] }): ReactNode {
  return (
    <>
      <Section title={words.versions}>
        {versions.length === 0 ? (
          <p className="muted pad">{words.versionsNone}</p>
        ) : (
          <DataTable
            label={words.versions}
            columns={versionColumns}
            rows={versions}
            keyOf={({ version }) => String(version)}
          />
        )}
      </Section>
      {versions.length > 0 && <Difference versions={versions} />}
    </>
  )
}

const versionColumns: readonly Column<Version>[] = [
  { head: words.columns.version, cell: ({ version }) => version, width: 110, narrow: 'main' },
  { head: words.structure, cell: ({ definitionHash }) => <code>{definitionHash.slice(0, 12)}</code>, narrow: 'below' },
  { head: words.content, cell: ({ contentHash }) => <code>{contentHash.slice(0, 12)}</code> },
  {
    head: words.submitted,
    cell: ({ submittedAt }) => <Time at={new Date(submittedAt)} />,
    ...{ width: 160, isNumber: true, narrow: 'side' },
  },
]
