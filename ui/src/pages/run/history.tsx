// The history: one row for each event, windowed, in pages that the API reads by number. An event opens in the panel.
import { useQueries, useQuery } from '@tanstack/react-query'
import type { HistoryEvent, RunRecord } from 'pawl/client'
import { type ReactNode, useEffect, useRef } from 'react'
import { Icon } from '../../components/icon.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { Problem, Skeleton } from '../../components/states.tsx'
import { useWindow } from '../../components/window-rows.ts'
import { useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { duration, exactClock, visible } from '../../data/format.ts'
import { useKeys } from '../../data/keys.ts'
import { useSettings } from '../../data/settings.ts'
import { eventText, text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { Panel } from './panel.tsx'

const ROW = 28
const PAGE = 500

interface HistoryProps {
  readonly run: RunRecord
}

export function useGeneration({ generation }: RunRecord): number {
  const [chosen] = useField('gen')
  return chosen === '' ? generation : Number(chosen)
}

/** The number of the newest event. */
export function useLastEvent(run: RunRecord): ReturnType<typeof useQuery<HistoryEvent | null>> {
  const generation = useGeneration(run)
  return useQuery({
    queryKey: ['run', run.runId, 'last', generation],
    queryFn: async () => {
      const page = await client().call('runs.history', { run: run.runId, generation, last: 1, payloads: false })
      return page.events.at(-1) ?? null
    },
  })
}

export function History({ run, at }: HistoryProps & { readonly at: number | undefined }): ReactNode {
  const last = useLastEvent(run)
  const [event, setEvent] = useField('event')
  if (last.error) return <Problem error={last.error} onAgain={() => void last.refetch()} />
  if (last.data === undefined) return <Skeleton />
  const end = last.data?.seq ?? -1
  return (
    <div className="body">
      <Rows run={run} last={end} at={at} chosen={event} onChoose={setEvent} />
      {event !== '' && <EventPanel run={run} seq={Number(event)} onClose={() => setEvent('')} />}
    </div>
  )
}

interface RowsProps extends HistoryProps {
  readonly last: number
  /** The event after which the run is shown. */
  readonly at: number | undefined
  readonly chosen: string
  readonly onChoose: (seq: string) => void
}

function Rows({ run, last, at, chosen, onChoose }: RowsProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const count = last + 1
  const { first, end } = useWindow(box, count, ROW)
  const events = usePages(run, first, end, last)
  const { utc } = useSettings()
  const isPlaced = useRef(false)
  useEffect(() => {
    const element = box.current
    if (!element || isPlaced.current) return
    isPlaced.current = true
    // A link to an event shows it; otherwise the newest are in sight.
    element.scrollTop = (chosen === '' ? count : Math.max(0, Number(chosen) - 5)) * ROW
  }, [chosen, count])
  const step = (by: number): void => {
    const next = Math.max(0, Math.min(last, (chosen === '' ? last + 1 : Number(chosen)) + by))
    onChoose(String(next))
    const element = box.current
    if (!element) return
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW
    if ((next + 2) * ROW > element.scrollTop + element.clientHeight)
      element.scrollTop = (next + 2) * ROW - element.clientHeight
  }
  useKeys({ ArrowUp: () => step(-1), ArrowDown: () => step(1) })
  const isPast = at !== undefined
  useEffect(() => {
    const element = box.current
    if (element && at !== undefined) element.scrollTop = at * ROW - element.clientHeight / 2
  }, [at])
  return (
    <div className="events" ref={box} tabIndex={0} role="region" aria-label={text.run.tabs.history}>
      <ol style={{ height: count * ROW }}>
        {Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index).map((seq) => {
          const event = events.get(seq)
          const before = events.get(seq - 1)
          const since = event && before ? event.at.getTime() - before.at.getTime() : 0
          return (
            <li
              key={seq}
              style={{ top: seq * ROW }}
              className={`${String(seq) === chosen ? 'sel' : ''} ${isPast && seq > at ? 'later' : ''} ${seq === at ? 'at' : ''}`}
            >
              <button
                type="button"
                className="ev"
                aria-pressed={String(seq) === chosen}
                onClick={() => onChoose(String(seq))}
              >
                <span className="mono muted num">{seq}</span>
                <span className="mono muted">{event ? exactClock(event.at, utc) : ''}</span>
                <span className="mono muted num">{since > 0 ? `+${duration(since)}` : ''}</span>
                <span className={event && isFailure(event) ? 'cut failed' : 'cut'}>
                  {event ? visible(eventText(event)) : ''}
                </span>
                <span className="mono muted only-wide">{event?.type}</span>
              </button>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

export function isFailure({ type }: HistoryEvent): boolean {
  return /Failed$|^StepRetried$|^StepRefused$/.test(type)
}

/** The events of the pages in sight, by number. The last page is read again when there are more. */
function usePages(run: RunRecord, first: number, end: number, last: number): ReadonlyMap<number, HistoryEvent> {
  const generation = useGeneration(run)
  const { runId } = run
  const from = Math.floor(Math.max(0, first - 1) / PAGE)
  const to = Math.floor(Math.max(0, end - 1) / PAGE)
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  const pages = useQueries({
    queries: numbers.map((page) => ({
      queryKey: ['history', runId, generation, page, Math.min(last, (page + 1) * PAGE - 1)],
      queryFn: () =>
        client().call('runs.history', { run: runId, generation, after: page * PAGE - 1, limit: PAGE, payloads: false }),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: <T,>(before: T): T => before,
    })),
  })
  return new Map(pages.flatMap(({ data }) => data?.events.map((event) => [event.seq, event] as const) ?? []))
}

interface EventProps extends HistoryProps {
  readonly seq: number
  readonly onClose: () => void
}

/** One event, with its values. */
function EventPanel({ run, seq, onClose }: EventProps): ReactNode {
  const [, onTravel] = useField('at')
  const generation = useGeneration(run)
  const { data, error } = useQuery({
    queryKey: ['event', run.runId, generation, seq],
    queryFn: async () => {
      const page = await client().call('runs.history', { run: run.runId, generation, after: seq - 1, limit: 1 })
      return page.events[0] ?? null
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <Panel title={`${text.run.event} ${seq}`} onClose={onClose}>
      {error && <Problem error={error} />}
      {data && (
        <section>
          <p>{visible(eventText(data))}</p>
          <p className="row acts">
            <button type="button" className="btn" onClick={() => onTravel(String(seq))}>
              <Icon name="clock" small /> {runText.past.travel}
            </button>
          </p>
          <JsonView key={seq} value={data} label={data.type} />
        </section>
      )}
    </Panel>
  )
}

/** The newest events, below the timeline. */
export function LatestEvents({ run, onAll }: HistoryProps & { readonly onAll: () => void }): ReactNode {
  const generation = useGeneration(run)
  const { utc } = useSettings()
  const { data } = useQuery({
    queryKey: ['run', run.runId, 'latest', generation],
    queryFn: () => client().call('runs.history', { run: run.runId, generation, last: 4, payloads: false }),
    placeholderData: (before) => before,
  })
  if (!data) return null
  return (
    <section className="latest" aria-label={text.run.latest}>
      <div className="lt">
        <b>{text.run.latest}</b>
        <span className="grow" />
        <button type="button" className="linklike two" onClick={onAll}>
          {text.run.allEvents}
        </button>
      </div>
      {data.events.toReversed().map((event) => (
        <div key={event.seq} className="ev">
          <span className="mono muted num">{event.seq}</span>
          <span className="mono muted">{exactClock(event.at, utc)}</span>
          <span />
          <span className={isFailure(event) ? 'cut failed' : 'cut'}>{visible(eventText(event))}</span>
          <span className="mono muted">{event.type}</span>
        </div>
      ))}
    </section>
  )
}
