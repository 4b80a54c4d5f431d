// What the list of schedules and the page of one share.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Icon } from '../../components/icon.tsx'
import { Countdown } from '../../components/time.tsx'
import { clock, duration, plural, visible } from '../../data/format.ts'
import { useNow } from '../../data/now.ts'
import { useSettings } from '../../data/settings.ts'
import { pageText } from '../../texts/pages.ts'

export type Schedule = OperationOutput<'schedules.list'>['items'][number]

const DAY_MS = 86_400_000
const words = pageText.schedules

export function State({ schedule: { paused, note } }: { readonly schedule: Schedule }): ReactNode {
  return (
    <span className={`status ${paused ? 'paused' : 'completed'}`} title={note === undefined ? '' : visible(note)}>
      <Icon name={paused ? 'st-paused' : 'st-completed'} />
      <span className="w">{paused ? words.paused : words.active}</span>
    </span>
  )
}

export function Next({ schedule: { next, paused, note } }: { readonly schedule: Schedule }): ReactNode {
  const { utc } = useSettings()
  const now = useNow()
  const [first] = next
  if (paused) return <span className="paused">{note === undefined ? words.paused : visible(note)}</span>
  if (!first) return <span className="muted">{words.noNext}</span>
  return (
    <time dateTime={first.toISOString()} title={first.toISOString()}>
      <span className="mono">{clock(first, { utc, now })}</span>{' '}
      <span className="muted">
        <Countdown until={first} />
      </span>
    </time>
  )
}

/** The next slots as ticks on the 24 hours from now. */
export function DayAxis({ next }: { readonly next: readonly Date[] }): ReactNode {
  const now = useNow()
  const inDay = next.filter((slot) => slot.getTime() - now < DAY_MS)
  const told = inDay.length === 0 ? words.noNext : plural(inDay.length, 'slot')
  return (
    <span className="day-axis" role="img" aria-label={`${words.columns.day}: ${told}`}>
      {inDay.map((slot) => (
        <i
          key={slot.getTime()}
          style={{ left: `${(100 * Math.max(0, slot.getTime() - now)) / DAY_MS}%` }}
          title={slot.toISOString()}
        />
      ))}
    </span>
  )
}

/** `every 15m`, `0 3 * * * (Europe/Berlin)`; of several timings, all of them. */
export function timingText(timing: Schedule['timing']): string {
  if ('timings' in timing) return timing.timings.map(timingText).join(' · ')
  if ('cron' in timing) {
    const zone = timing.timeZone === undefined || timing.timeZone === 'UTC' ? '' : ` (${timing.timeZone})`
    return `${[timing.cron].flat().join(' · ')}${zone}`
  }
  const told = (value: unknown): string => (typeof value === 'number' ? duration(value) : String(value))
  return `every ${told(timing.every)}${timing.offset === undefined ? '' : `, offset ${told(timing.offset)}`}`
}
