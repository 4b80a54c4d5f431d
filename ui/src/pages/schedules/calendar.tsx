// Five weeks of a schedule: how many slots each day has, which of them are past, and how the newest runs ended.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { runPath, useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { count, plural } from '../../data/format.ts'
import { useNow } from '../../data/now.ts'
import { usePolled } from '../../data/polled.ts'
import { useSettings } from '../../data/settings.ts'
import { pageText } from '../../texts/pages.ts'

type Detail = OperationOutput<'schedules.get'>

const DAY_MS = 86_400_000
const WEEKS = 5
const SHOWN = 4
const EVERY_MS = 60_000
const words = pageText.schedules

interface CalendarProps {
  readonly schedule: string
  readonly recent: Detail['recent']
}

/** The days are those of the time zone in which the reader wants times. */
export function Calendar({ schedule, recent }: CalendarProps): ReactNode {
  const { utc } = useSettings()
  const [shift, setShift] = useField('weeks')
  const now = useNow()
  const weeks = Number.isInteger(Number(shift)) ? Number(shift) : 0
  const first = mondayOf(now, utc) + (weeks - 1) * 7 * DAY_MS
  const [from, to] = [instantOf(first, utc), new Date(instantOf(first + WEEKS * 7 * DAY_MS, utc).getTime() - 1)]
  const query = usePolled(
    ['slots', schedule, from.getTime()],
    () => client().call('schedules.slots', { schedule, from, to }),
    { everyMs: EVERY_MS },
  )
  const move = (by: number): void => setShift(weeks + by === 0 ? '' : String(weeks + by))
  const actions = (
    <>
      <button type="button" className="btn quiet" onClick={() => move(-WEEKS)}>
        {words.earlier}
      </button>
      <button type="button" className="btn quiet" disabled={weeks === 0} onClick={() => setShift('')}>
        {words.today}
      </button>
      <button type="button" className="btn quiet" onClick={() => move(WEEKS)}>
        {words.later}
      </button>
    </>
  )
  return (
    <Section title={words.calendar} about={utc ? 'UTC' : 'local time'} actions={actions}>
      <Loaded query={query} rows={WEEKS}>
        {({ slots, more }) => (
          <>
            <Weeks first={first} utc={utc} now={now} slots={slots} recent={recent} />
            {more && <p className="muted pad">{words.only}</p>}
          </>
        )}
      </Loaded>
    </Section>
  )
}

interface WeeksProps {
  readonly first: number
  readonly utc: boolean
  readonly now: number
  readonly slots: readonly Date[]
  readonly recent: Detail['recent']
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

function Weeks({ first, utc, now, slots, recent }: WeeksProps): ReactNode {
  const byDay = Map.groupBy(slots, (slot) => dayOf(slot, utc))
  const runsByDay = Map.groupBy(recent, ({ slot, createdAt }) => dayOf(slot ?? createdAt, utc))
  const today = dayOf(new Date(now), utc)
  return (
    <table className="calendar" aria-label={words.days}>
      <thead>
        <tr>
          {weekdays.map((day) => (
            <th key={day} scope="col">
              {day}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: WEEKS }, (_, week) => (
          <tr key={week}>
            {weekdays.map((weekday, index) => {
              const day = Math.round(first / DAY_MS) + 7 * week + index
              const own = byDay.get(day) ?? []
              return (
                <td
                  key={weekday}
                  aria-current={day === today ? 'date' : undefined}
                  className={day < today ? 'past' : ''}
                >
                  <Day day={day} slots={own} runs={runsByDay.get(day) ?? []} utc={utc} now={now} />
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface DayProps extends Pick<WeeksProps, 'slots' | 'utc' | 'now'> {
  readonly day: number
  readonly runs: Detail['recent']
}

function Day({ day, slots, runs, utc, now }: DayProps): ReactNode {
  const date = new Date(day * DAY_MS)
  const label = date.getUTCDate() === 1 ? date.toISOString().slice(0, 7) : String(date.getUTCDate())
  return (
    <>
      <span className="date">{label}</span>
      {slots.length > SHOWN && (
        <span className="slot-count" title={words.slots(plural(slots.length, 'slot'))}>
          {count(slots.length)}×
        </span>
      )}
      {slots.length <= SHOWN &&
        slots.map((slot) => (
          <time key={slot.getTime()} dateTime={slot.toISOString()} className={slot.getTime() < now ? 'was' : 'next'}>
            {timeOf(slot, utc)}
          </time>
        ))}
      <span className="day-runs">
        {runs.slice(0, 2 * SHOWN).map(({ runId, status, workflowId }) => (
          <Link key={runId} href={runPath(runId)} aria-label={`${workflowId}, ${status}`} title={status}>
            <StatusMark status={status} word={false} />
          </Link>
        ))}
      </span>
    </>
  )
}

/** Days count from 1970, in UTC or in the time zone of the reader. */
function dayOf(time: Date, utc: boolean): number {
  return Math.floor(localMs(time, utc) / DAY_MS)
}

function localMs(time: Date, utc: boolean): number {
  return utc ? time.getTime() : time.getTime() - time.getTimezoneOffset() * 60_000
}

/** Midnight at the beginning of the week, as if the clock of the reader were UTC. */
function mondayOf(now: number, utc: boolean): number {
  const day = dayOf(new Date(now), utc)
  // 1 January 1970 was a Thursday.
  return (day - ((day + 3) % 7)) * DAY_MS
}

function instantOf(local: number, utc: boolean): Date {
  if (utc) return new Date(local)
  const [year, month, day] = [
    new Date(local).getUTCFullYear(),
    new Date(local).getUTCMonth(),
    new Date(local).getUTCDate(),
  ]
  return new Date(year, month, day)
}

function timeOf(slot: Date, utc: boolean): string {
  return new Date(localMs(slot, utc)).toISOString().slice(11, 16)
}
