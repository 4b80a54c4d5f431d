// What can be done with a schedule.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { Act, Field } from '../../components/act.tsx'
import { runPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { count, plural, shellWord, visible } from '../../data/format.ts'
import { paths } from '../../data/pages.ts'
import { pageText } from '../../texts/pages.ts'

const words = pageText.schedules

interface Of {
  readonly schedule: string
}

function command(verb: string, schedule: string, ...more: readonly string[]): string {
  return ['pawl', 'schedule', verb, schedule, ...more].map(shellWord).join(' ')
}

export function PauseOrResume({ schedule, isPaused }: Of & { readonly isPaused: boolean }): ReactNode {
  const [note, setNote] = useState('')
  const handle = client().schedules.get(schedule)
  if (isPaused) {
    return (
      <Act
        verb={words.resume}
        title={`${words.resume} ${visible(schedule)}`}
        label={`${words.resume} ${visible(schedule)}`}
        about={words.resumeAbout}
        command={command('resume', schedule)}
        act={async () => {
          await handle.resume()
          return words.done.resume(schedule)
        }}
      />
    )
  }
  return (
    <Act
      verb={words.pause}
      title={`${words.pause} ${visible(schedule)}`}
      label={`${words.pause} ${visible(schedule)}`}
      about={words.pauseAbout}
      command={command('pause', schedule, ...(note === '' ? [] : ['--note', note]))}
      fields={<Field label={words.note} value={note} onChange={setNote} />}
      act={async () => {
        await handle.pause(note === '' ? undefined : note)
        return words.done.pause(schedule)
      }}
    />
  )
}

export function Trigger({ schedule }: Of): ReactNode {
  return (
    <Act
      verb={words.trigger}
      title={`${words.trigger} ${visible(schedule)}`}
      label={`${words.trigger} ${visible(schedule)}`}
      about={words.triggerAbout}
      command={command('trigger', schedule)}
      act={async () => {
        const { runId } = await client().schedules.get(schedule).trigger()
        return { done: words.done.trigger, href: runPath(runId) }
      }}
    />
  )
}

export function Remove({ schedule }: Of): ReactNode {
  const [, go] = useLocation()
  return (
    <Act
      verb={words.remove}
      title={`${words.remove} ${visible(schedule)}`}
      about={words.removeAbout}
      command={command('delete', schedule)}
      isDangerous
      act={async () => {
        await client().schedules.get(schedule).delete()
        go(paths.schedules)
        return words.done.remove(schedule)
      }}
    />
  )
}

const HOUR_MS = 3_600_000

/** How many runs a backfill starts is shown before it can be asked for. */
export function Backfill({ schedule }: Of): ReactNode {
  const [from, setFrom] = useState(() => inputOf(new Date(Date.now() - HOUR_MS)))
  const [to, setTo] = useState(() => inputOf(new Date()))
  const range = rangeOf(from, to)
  const found = useQuery({
    queryKey: ['backfill', schedule, from, to],
    queryFn: () => client().call('schedules.slots', { schedule, ...(range ?? { from: new Date(0), to: new Date(0) }) }),
    enabled: range !== undefined,
  })
  const slots = found.data
  const many = slots && plural(slots.slots.length, 'slot')
  const isReady = range !== undefined && slots !== undefined && slots.slots.length > 0
  return (
    <Act
      verb={words.backfill}
      title={`${words.backfill} ${visible(schedule)}`}
      about={words.backfillAbout}
      command={command('backfill', schedule, '--from', `${from}:00Z`, '--to', `${to}:00Z`)}
      isReady={isReady}
      fields={
        <>
          <div className="two-fields">
            <Field label={words.from} type="datetime-local" value={from} onChange={setFrom} isRequired />
            <Field label={words.to} type="datetime-local" value={to} onChange={setTo} isRequired />
          </div>
          <p role="status" className="strong">
            {slots && slots.slots.length === 0 && words.noSlots}
            {slots &&
              many !== undefined &&
              slots.slots.length > 0 &&
              (slots.more ? words.countMore(many) : words.count(many))}
          </p>
        </>
      }
      act={async () => {
        if (!range) return undefined
        const requested = await client().schedules.get(schedule).backfill(range)
        return words.done.backfill(`${count(requested)} runs`)
      }}
    />
  )
}

/** The field of the browser has no time zone: it is UTC. */
function inputOf(time: Date): string {
  return time.toISOString().slice(0, 16)
}

function rangeOf(from: string, to: string): { readonly from: Date; readonly to: Date } | undefined {
  const [first, last] = [new Date(`${from}:00Z`), new Date(`${to}:00Z`)]
  const isRange = !Number.isNaN(first.getTime()) && !Number.isNaN(last.getTime()) && first <= last
  return isRange ? { from: first, to: last } : undefined
}
