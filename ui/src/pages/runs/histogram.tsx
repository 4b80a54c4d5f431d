// How many runs were started over time, by their status now: failed ones below the line. A drag or a click on a bar
// narrows the filter to its time.
import type { OperationOutput, RunFilter } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { clock, count } from '../../data/format.ts'
import { usePolled } from '../../data/polled.ts'
import { useSettings } from '../../data/settings.ts'
import { pageText } from '../../texts/pages.ts'
import { named } from './use-runs.ts'

type Bin = OperationOutput<'runs.histogram'>['items'][number]

const HOUR_MS = 3_600_000
const spans = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS } as const
type Span = keyof typeof spans

const BINS = 48
const EVERY_MS = 30_000
const ABOVE = 44
const BELOW = 16
const words = pageText.histogram

interface HistogramProps {
  readonly filter: RunFilter
  /** The filter as text: another one is another chart. */
  readonly query: string
  readonly onSpan: (from: Date, to: Date) => void
}

export function Histogram({ filter, query, onSpan }: HistogramProps): ReactNode {
  const [given, setSpan] = useField('span')
  const span: Span = given === '24h' || given === '7d' ? given : '1h'
  const [isTable, setTable] = useState(false)
  const found = usePolled(['histogram', query, span], async () => look(filter, span), { everyMs: EVERY_MS })
  const bins = found.data
  return (
    <section className="histogram" aria-label={words.label}>
      <div className="legend">
        <select
          aria-label={words.span}
          value={span}
          onChange={({ target }) => setSpan(target.value === '1h' ? '' : target.value)}
        >
          {Object.keys(spans).map((each) => (
            <option key={each} value={each}>
              {words.spans[each as Span]}
            </option>
          ))}
        </select>
        <span className="grow" />
        {(['completed', 'progress', 'cancelled', 'failed'] as const).map((each) => (
          <span key={each}>
            <i className={each} aria-hidden="true" /> {words[each]}
          </span>
        ))}
        <button type="button" className="linklike" onClick={() => setTable(!isTable)}>
          {isTable ? words.chart : words.table}
        </button>
      </div>
      {!bins && <div className="hist" aria-busy="true" />}
      {bins && (isTable ? <BinTable bins={bins} /> : <Bars bins={bins} onSpan={onSpan} />)}
    </section>
  )
}

async function look(filter: RunFilter, span: Span): Promise<readonly Bin[]> {
  // Whole steps of time, so that the same bars are asked for again and do not crawl.
  const step = spans[span] / BINS
  const end = Math.ceil(Date.now() / step) * step
  const { startedAfter: first = new Date(0), startedBefore: last = new Date(end), ...rest } = named(filter)
  const from = Math.max(end - spans[span], first.getTime())
  const to = Math.min(end, last.getTime())
  if (to <= from) return []
  const range = { startedAfter: new Date(from), startedBefore: new Date(to) }
  const { items } = await client().call('runs.histogram', { ...rest, ...range, bins: BINS })
  return items
}

interface Sums {
  readonly all: number
  readonly completed: number
  readonly progress: number
  readonly cancelled: number
  readonly failed: number
}

function sumsOf({ counts }: Bin): Sums {
  const { completed = 0, failed = 0, cancelled = 0 } = counts
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0)
  return { all, completed, failed, cancelled, progress: all - completed - failed - cancelled }
}

interface BarsProps {
  readonly bins: readonly Bin[]
  readonly onSpan: HistogramProps['onSpan']
}

function Bars({ bins, onSpan }: BarsProps): ReactNode {
  const [start, setStart] = useState<number>()
  const sums = bins.map(sumsOf)
  const above = Math.max(1, ...sums.map(({ all, failed }) => all - failed))
  const below = Math.max(1, ...sums.map(({ failed }) => failed))
  // One run has the same height above and below the line.
  const scale = Math.min(ABOVE / above, BELOW / below)
  const end = (index: number): void => {
    const [one, other] = [Math.min(start ?? index, index), Math.max(start ?? index, index)]
    setStart(undefined)
    const [from, to] = [bins[one]?.from, bins[other]?.to]
    if (from && to) onSpan(from, to)
  }
  return (
    <>
      <svg
        className="hist"
        viewBox={`0 0 ${bins.length} ${ABOVE + BELOW}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${words.label}: ${count(sums.reduce((sum, { all }) => sum + all, 0))}`}
      >
        {bins.map((bin, index) => (
          <g
            key={bin.from.getTime()}
            onPointerDown={() => setStart(index)}
            onPointerUp={() => end(index)}
            className={start !== undefined && index >= start ? 'hit' : ''}
          >
            <Bar bin={bin} sums={sums[index] ?? sumsOf(bin)} x={index} scale={scale} />
          </g>
        ))}
        <rect className="line" x={0} y={ABOVE} width={bins.length} height={0.6} />
      </svg>
      <Axis bins={bins} />
    </>
  )
}

interface BarProps {
  readonly bin: Bin
  readonly sums: Sums
  readonly x: number
  /** Height of one run. */
  readonly scale: number
}

function Bar({ bin, sums, x, scale }: BarProps): ReactNode {
  const { utc } = useSettings()
  const now = bin.to.getTime()
  const kinds = ['completed', 'cancelled', 'progress'] as const
  const told = kinds
    .filter((kind) => sums[kind] > 0)
    .map((kind) => `${count(sums[kind])} ${words[kind]}`)
    .concat(sums.failed > 0 ? [`${count(sums.failed)} failed`] : [])
  let y = ABOVE
  return (
    <>
      <rect className="room" x={x} y={0} width={1} height={ABOVE + BELOW}>
        <title>
          {words.bin(
            clock(bin.from, { utc, now }),
            clock(bin.to, { utc, now }),
            told.length === 0 ? words.nothing : told.join(', '),
          )}
        </title>
      </rect>
      {kinds.map((kind) => {
        const height = scale * sums[kind]
        y -= height
        return height > 0 && <rect key={kind} className={kind} x={x + 0.08} y={y} width={0.84} height={height} />
      })}
      {sums.failed > 0 && (
        <rect
          className="failed"
          x={x + 0.08}
          y={ABOVE + 1}
          width={0.84}
          height={Math.max(2, scale * sums.failed - 1)}
        />
      )}
    </>
  )
}

function Axis({ bins }: { readonly bins: readonly Bin[] }): ReactNode {
  const { utc } = useSettings()
  const marks = [0, 0.25, 0.5, 0.75].flatMap((part) => bins[Math.floor(bins.length * part)]?.from ?? [])
  const last = bins.at(-1)?.to
  const now = last?.getTime() ?? 0
  return (
    <p className="time-axis" aria-hidden="true">
      {[...marks, ...(last ? [last] : [])].map((time) => (
        <span key={time.getTime()}>
          {clock(time, { utc, now }).replace(/:\d\d$/, (end) => (/ /.test(end) ? end : ''))}
        </span>
      ))}
    </p>
  )
}

function BinTable({ bins }: { readonly bins: readonly Bin[] }): ReactNode {
  const { utc } = useSettings()
  const heads = words.columns
  return (
    <div className="bins" tabIndex={0} role="region" aria-label={words.label}>
      <table className="data">
        <thead>
          <tr>
            {Object.values(heads).map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bins
            .toReversed()
            .filter(({ counts }) => Object.keys(counts).length > 0)
            .map((bin) => {
              const { all, completed, progress, failed } = sumsOf(bin)
              return (
                <tr key={bin.from.getTime()}>
                  <td className="n-main">{clock(bin.from, { utc, now: bin.to.getTime() })}</td>
                  {[all, completed, progress, failed].map((value, index) => (
                    <td key={index} className="n-side">
                      {count(value)}
                    </td>
                  ))}
                </tr>
              )
            })}
        </tbody>
      </table>
    </div>
  )
}
