// The past of a run: a slider over its events. With it the whole page shows the run as it was after one of them.
import { useQuery } from '@tanstack/react-query'
import type { HistoryEvent, RunRecord } from 'pawl/client'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { duration, exactClock, visible } from '../../data/format.ts'
import { useSettings } from '../../data/settings.ts'
import { eventText } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { useGeneration, useLastEvent } from './history.tsx'

/** How long the slider rests before the page follows it. */
const REST_MS = 120

export interface Past {
  /** The event after which the run is shown; undefined for now. */
  readonly at: number | undefined
  readonly last: number
  readonly go: (at: number | undefined) => void
}

export function usePast(run: RunRecord): Past {
  const [given, set] = useField('at')
  const { data } = useLastEvent(run)
  const last = data?.seq ?? 0
  const asked = /^\d+$/.test(given) ? Number(given) : undefined
  // The newest event is the present.
  const at = data !== undefined && asked !== undefined && asked >= last ? undefined : asked
  return { at, last, go: (next) => set(next === undefined || next >= last ? '' : String(Math.max(0, next))) }
}

export function Scrubber({ past: { at, last, go } }: { readonly past: Past }): ReactNode {
  const [held, setHeld] = useState<number>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const shown = Math.min(held ?? at ?? last, last)
  const slide = (next: number): void => {
    setHeld(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      setHeld(undefined)
      go(next)
    }, REST_MS)
  }
  const { past } = runText
  const step = (label: string, next: number, icon: string, isOff: boolean): ReactNode => (
    <button
      type="button"
      className="btn quiet icon"
      aria-label={label}
      title={label}
      disabled={isOff}
      onClick={() => go(next)}
    >
      <Icon name={icon} small />
    </button>
  )
  return (
    <div className={at === undefined ? 'scrub' : 'scrub is-past'}>
      {step(past.earlier, shown - 1, 'left', shown <= 0)}
      <input
        type="range"
        min={0}
        max={last}
        value={shown}
        aria-label={past.slider}
        aria-valuetext={at === undefined ? past.live(last) : past.at(shown, last)}
        onChange={({ target }) => slide(Number(target.value))}
      />
      {step(past.later, shown + 1, 'right', shown >= last)}
      <span className="at">{shown >= last ? past.live(last) : past.at(shown, last)}</span>
    </div>
  )
}

/** In place of the reason why the run waits: which moment is shown, and what had just happened. */
export function PastBar({ run, past }: { readonly run: RunRecord; readonly past: Past }): ReactNode {
  const { at = 0, go } = past
  const { utc } = useSettings()
  const event = useEvent(run, at)
  return (
    <section className="why look-paused past" aria-label={runText.past.region}>
      <Icon name="clock" />
      <div aria-live="polite">
        <p className="say">
          {event
            ? runText.past.look(
                exactClock(event.at, utc),
                duration(Math.max(0, event.at.getTime() - run.createdAt.getTime())),
              )
            : runText.past.changed(at)}
        </p>
        <p className="more">{event && visible(eventText(event))}</p>
      </div>
      <div className="act">
        <button type="button" className="btn primary" onClick={() => go(undefined)}>
          {runText.past.back} <kbd>Esc</kbd>
        </button>
      </div>
    </section>
  )
}

function useEvent(run: RunRecord, seq: number): HistoryEvent | undefined {
  const generation = useGeneration(run)
  const { data } = useQuery({
    queryKey: ['event', run.runId, generation, seq, 'brief'],
    queryFn: async () => {
      const place = { run: run.runId, generation, after: seq - 1, limit: 1, payloads: false }
      return (await client().call('runs.history', place)).events[0] ?? null
    },
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  })
  return data ?? undefined
}
