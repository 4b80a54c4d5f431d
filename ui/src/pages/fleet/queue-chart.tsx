// How much was due since the page was opened, in all queues: the newest looks, one bar each.
import type { OperationOutput } from 'pawl/client'
import { type ReactNode, useEffect, useState } from 'react'
import { Section } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { count } from '../../data/format.ts'
import { shared } from '../../data/store.ts'
import { pageText } from '../../texts/pages.ts'

type Queue = OperationOutput<'queues.list'>['items'][number]

interface Point {
  readonly at: number
  readonly due: number
}

const MOST = 120
const HEIGHT = 60
/** Kept while the page of the browser is open, so that the way to another page and back loses nothing. */
const points = shared<readonly Point[]>([])

export function QueueChart({ queues, at }: { readonly queues: readonly Queue[]; readonly at: number }): ReactNode {
  const [shown, setShown] = useState(points.get())
  useEffect(() => {
    const due = queues.reduce((sum, each) => sum + each.due, 0)
    const before = points.get()
    if (before.at(-1)?.at !== at) points.set([...before, { at, due }].slice(-MOST))
    setShown(points.get())
  }, [queues, at])
  const most = Math.max(1, ...shown.map(({ due }) => due))
  const first = shown[0]
  if (!first || shown.length < 2) return null
  const width = 100 / MOST
  return (
    <Section title={pageText.fleet.history} about={`0 to ${count(most)}`}>
      <div className="queue-chart">
        <svg viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={pageText.fleet.history}>
          {shown.map((point, index) => {
            const height = Math.max(point.due === 0 ? 1 : 2, (HEIGHT * point.due) / most)
            return (
              <rect
                key={point.at}
                className={point.due === 0 ? 'none' : 'due'}
                x={(MOST - shown.length + index) * width}
                y={HEIGHT - height}
                width={width * 0.8}
                height={height}
              />
            )
          })}
        </svg>
        <p className="time-axis">
          <Time at={new Date(first.at)} />
          <Time at={new Date(at)} />
        </p>
      </div>
    </Section>
  )
}
