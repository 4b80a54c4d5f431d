// The machine of a run: the states that it has been in, the moves between them and how often; beside it the moves one by
// one, and the state after the newest of them.
import { useQuery } from '@tanstack/react-query'
import { type HistoryEvent, type MachineMove, movesOf, type RunRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { JsonView } from '../../components/json-view.tsx'
import { Problem, Skeleton } from '../../components/states.tsx'
import { client } from '../../data/client.ts'
import { count, exactClock, visible } from '../../data/format.ts'
import { useSettings } from '../../data/settings.ts'
import { eventText } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { type Arrow, type Box, Drawing } from './drawing.tsx'
import { useGeneration } from './history.tsx'
import type { View } from './use-run.ts'

const PAGE = 1_000
const READ_MAX = 5_000
const MOVES_SHOWN = 100

export default function MachineView({ run, view }: { readonly run: RunRecord; readonly view: View }): ReactNode {
  const { runId } = run
  const generation = useGeneration(run)
  const { data, error, refetch } = useQuery({
    queryKey: ['run', runId, 'moves', generation],
    queryFn: () => readMachine({ run: runId, generation }),
    placeholderData: (before) => before,
  })
  if (error) return <Problem error={error} onAgain={() => void refetch()} />
  if (!data) return <Skeleton rows={6} />
  const until = view.at ?? Number.POSITIVE_INFINITY
  const events = data.events.filter(({ seq }) => seq <= until)
  const moves = movesOf(events)
  const moved = events.findLast(({ type }) => type === 'StateMoved')
  const state = events.findLast((event) => event.type === 'StateMoved' && 'state' in event)
  return (
    <div className="machine">
      <div className="left">
        {data.isCut && <p className="muted note">{runText.graph.newest(count(READ_MAX))}</p>}
        <Drawing label={runText.graph.machine} {...drawn(moves)} />
      </div>
      <div className="moves" tabIndex={0} role="region" aria-label={runText.graph.moves}>
        {state?.type === 'StateMoved' && (
          <JsonView key={state.seq} value={state.state} label={runText.graph.stateAt(moved?.seq ?? state.seq)} />
        )}
        <Moves moves={moves} />
      </div>
    </div>
  )
}

interface Read {
  readonly events: readonly HistoryEvent[]
  readonly isCut: boolean
}

// The events without their values, which may be large; but the states with theirs.
async function readMachine(of: { readonly run: string; readonly generation: number }): Promise<Read> {
  const brief = await pages({ ...of, payloads: false })
  const states = await pages({ ...of, type: 'StateMoved' })
  const bySeq = new Map(states.events.map((event) => [event.seq, event]))
  return { events: brief.events.map((event) => bySeq.get(event.seq) ?? event), isCut: brief.isCut }
}

async function pages(asked: { run: string; generation: number; type?: string; payloads?: boolean }): Promise<Read> {
  const events: HistoryEvent[] = []
  let after = -1
  for (;;) {
    const page = await client().call('runs.history', { ...asked, after, limit: PAGE })
    events.push(...page.events)
    if (page.next === undefined || events.length >= READ_MAX) return { events, isCut: page.next !== undefined }
    after = page.next
  }
}

function causeText({ cause, end, from }: MachineMove): string {
  if (end !== undefined) return end
  if (cause) return eventText(cause).replace(/^receives the /, '')
  return from === undefined ? runText.graph.start : ''
}

const BOX = { width: 148, height: 40 } as const

function drawn(moves: readonly MachineMove[]): { readonly boxes: readonly Box[]; readonly arrows: readonly Arrow[] } {
  const states = new Set(moves.flatMap(({ from, to }) => [from, to].filter((each) => each !== undefined)))
  const last = moves.at(-1)
  const point = (id: string, className: string): Box => ({ id, width: 16, height: 16, className, content: null })
  const boxes = [...states].map((state): Box => {
    const isHere = last?.end === undefined && last?.to === state
    const content = (
      <button type="button" className="of-state" aria-current={isHere ? 'true' : undefined}>
        <span className="mono cut">{visible(state)}</span>
      </button>
    )
    return { id: `state ${state}`, ...BOX, className: isHere ? 'state-box here' : 'state-box', content }
  })
  const between = Map.groupBy(moves, ({ from, to }) => JSON.stringify([from, to]))
  const arrows = [...between.values()].flatMap((same): Arrow[] => {
    const [first] = same
    if (!first) return []
    const from = first.from === undefined ? 'start' : `state ${first.from}`
    const to = first.to === undefined ? 'end' : `state ${first.to}`
    const className = last !== undefined && same.includes(last) ? 'taken newest' : 'taken'
    return [{ from, to, className, label: causesOf(same) }]
  })
  return {
    boxes: [
      ...(moves.length > 0 ? [point('start', 'point-box')] : []),
      ...boxes,
      ...(last?.end === undefined ? [] : [point('end', `point-box end ${last.end}`)]),
    ],
    arrows,
  }
}

const CAUSES_SHOWN = 4

/** What led from one state to the other, and how often. */
function causesOf(moves: readonly MachineMove[]): string {
  // The number of a request says nothing here: all of a name are the same arrow.
  const counts = Map.groupBy(moves, (move) => short(causeText(move).replace(/ #\d+\b/, '')))
  const lines = [...counts].map(([cause, some]) => (some.length === 1 ? cause : `${cause} ×${some.length}`))
  const shown = lines.slice(0, CAUSES_SHOWN)
  return [...shown, ...(lines.length > shown.length ? [`+${lines.length - shown.length}`] : [])].join('\n')
}

function short(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text
}

function Moves({ moves }: { readonly moves: readonly MachineMove[] }): ReactNode {
  const { utc } = useSettings()
  const { columns } = runText.graph
  return (
    <table className="plain">
      <caption className="sr">{runText.graph.moves}</caption>
      <thead>
        <tr>
          <th className="num">{columns.n}</th>
          <th>{columns.at}</th>
          <th>{columns.cause}</th>
          <th>{columns.to}</th>
        </tr>
      </thead>
      <tbody>
        {moves
          .slice(-MOVES_SHOWN)
          .toReversed()
          .map((move) => (
            <tr key={`${move.seq} ${move.end ?? ''}`}>
              <td className="num mono muted">{move.seq}</td>
              <td className="mono muted">{exactClock(move.at, utc)}</td>
              <td>{visible(causeText(move))}</td>
              <td className="mono">{visible(move.to ?? runText.graph.end)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}
