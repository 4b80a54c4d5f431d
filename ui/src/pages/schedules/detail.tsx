// One schedule: its state, its calendar, its newest runs and its plan.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ReadOnly } from '../../components/act.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Answer, PageFrame, Section } from '../../components/page.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Ticking, Time } from '../../components/time.tsx'
import { runPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { plural, visible } from '../../data/format.ts'
import { paths, startPath } from '../../data/pages.ts'
import { usePolled } from '../../data/polled.ts'
import { pageText } from '../../texts/pages.ts'
import { Calendar } from './calendar.tsx'
import { Backfill, PauseOrResume, Remove, Trigger } from './operations.tsx'
import { Next, State, timingText } from './parts.tsx'

type Detail = OperationOutput<'schedules.get'>
type Recent = Detail['recent'][number]

const words = pageText.schedules

export function SchedulePage({ schedule }: { readonly schedule: string }): ReactNode {
  const query = usePolled(['schedule', schedule], () => client().schedules.get(schedule).describe())
  const crumbs = (
    <>
      <Link href={paths.schedules}>{pageText.nav.schedules}</Link>
      <span className="sep">/</span>
      <h1 className="cut">{visible(schedule)}</h1>
    </>
  )
  return (
    <PageFrame title={pageText.nav.schedules} crumbs={crumbs}>
      <Loaded query={query} rows={10}>
        {(found) => <Found {...found} />}
      </Loaded>
    </PageFrame>
  )
}

function Found(found: Detail): ReactNode {
  const { id, workflow, paused, timing, missed, recent, plan } = found
  const { workflow: _, ...shown } = plan
  return (
    <>
      <Answer
        title={visible(timingText(timing))}
        about={
          <span className="row wrapping">
            <State schedule={found} />
            <Link className="link" href={startPath(workflow)}>
              {visible(workflow)}
            </Link>
            <Next schedule={found} />
            {missed > 0 && <span className="paused">{words.missedAbout(plural(missed, 'slot'))}</span>}
          </span>
        }
      />
      <div className="page-acts">
        <Trigger schedule={id} />
        <PauseOrResume schedule={id} isPaused={paused} />
        <Backfill schedule={id} />
        <Remove schedule={id} />
        <ReadOnly />
      </div>
      <Calendar schedule={id} recent={recent} />
      <Section title={words.recent}>
        {recent.length === 0 ? (
          <p className="muted pad">{words.noRecent}</p>
        ) : (
          <DataTable label={words.recent} columns={columns} rows={recent} keyOf={({ runId }) => runId} />
        )}
      </Section>
      <Section title={words.plan}>
        <div className="pad">
          <JsonView value={shown} label={words.plan} />
        </div>
      </Section>
    </>
  )
}

const columns: readonly Column<Recent>[] = [
  { head: 'Status', cell: ({ status }) => <StatusMark status={status} />, width: 130, narrow: 'side' },
  {
    head: 'Run',
    cell: ({ runId, workflowId }) => (
      <Link className="mono" href={runPath(runId)}>
        {visible(workflowId)}
      </Link>
    ),
    narrow: 'main',
  },
  { head: words.slot, cell: ({ slot }) => (slot ? <Time at={slot} /> : words.byHand), width: 150, narrow: 'below' },
  { head: 'Started', cell: ({ createdAt }) => <Time at={createdAt} />, width: 130, isNumber: true },
  {
    head: 'Took',
    cell: ({ createdAt, endedAt }) => <Ticking from={createdAt} to={endedAt} />,
    width: 110,
    isNumber: true,
  },
]
