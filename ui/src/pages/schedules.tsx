// Schedules: what starts when, on an axis of a day; and one of them with its calendar.
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageFrame } from '../components/page.tsx'
import { Teach } from '../components/states.tsx'
import { useSegment } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, visible } from '../data/format.ts'
import { schedulePath } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { pageText } from '../texts/pages.ts'
import { SchedulePage } from './schedules/detail.tsx'
import { PauseOrResume, Trigger } from './schedules/operations.tsx'
import { DayAxis, Next, type Schedule, State, timingText } from './schedules/parts.tsx'

const PAGE = 100
const words = pageText.schedules

export function SchedulesPage(): ReactNode {
  const schedule = useSegment(1)
  return schedule === '' ? <List /> : <SchedulePage key={schedule} schedule={schedule} />
}

function List(): ReactNode {
  const [limit, setLimit] = useState(PAGE)
  const query = usePolled(['schedules', limit], () => client().schedules.list({ limit }), { everyMs: 10_000 })
  return (
    <PageFrame title={pageText.nav.schedules}>
      <Loaded query={query} rows={8}>
        {({ items, cursor }) =>
          items.length === 0 ? (
            <Teach {...words.empty} />
          ) : (
            <>
              <Table items={items} />
              {cursor !== undefined && (
                <p className="pad">
                  <button type="button" className="btn" onClick={() => setLimit(limit + PAGE)}>
                    {words.more}
                  </button>
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </PageFrame>
  )
}

function Table({ items }: { readonly items: readonly Schedule[] }): ReactNode {
  const { columns: heads } = words
  const columns: readonly Column<Schedule>[] = [
    { head: heads.state, cell: (schedule) => <State schedule={schedule} />, width: 104, narrow: 'side' },
    {
      head: heads.id,
      cell: ({ id }) => (
        <Link className="mono medium" href={schedulePath(id)}>
          {visible(id)}
        </Link>
      ),
      narrow: 'main',
    },
    { head: heads.workflow, cell: ({ workflow }) => visible(workflow) },
    { head: heads.timing, cell: ({ timing }) => <code>{visible(timingText(timing))}</code>, narrow: 'below' },
    { head: heads.next, cell: (schedule) => <Next schedule={schedule} />, width: 190, narrow: 'below' },
    { head: heads.day, cell: ({ next }) => <DayAxis next={next} />, width: 170 },
    {
      head: heads.missed,
      cell: ({ missed }) => (missed === 0 ? '–' : <span className="paused">{count(missed)}</span>),
      ...{ width: 70, isNumber: true },
    },
    {
      head: 'Operations',
      cell: ({ id, paused }) => (
        <span className="row">
          <PauseOrResume schedule={id} isPaused={paused} />
          <Trigger schedule={id} />
        </span>
      ),
      width: 190,
    },
  ]
  return <DataTable label={words.list} columns={columns} rows={items} keyOf={({ id }) => id} />
}
