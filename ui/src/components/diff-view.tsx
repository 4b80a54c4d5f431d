// Two values beside each other in one: lines that were taken away and lines that were added.
import type { ReactNode } from 'react'
import { diffOf } from '../data/diff.ts'
import { jsonOf, visible } from '../data/format.ts'

const AROUND = 3

export function DiffView({
  before,
  after,
  label,
}: {
  readonly before: unknown
  readonly after: unknown
  readonly label: string
}): ReactNode {
  const lines = diffOf(jsonOf(before), jsonOf(after))
  const near = new Set(
    lines.flatMap(({ kind }, at) =>
      kind === 'same' ? [] : Array.from({ length: 2 * AROUND + 1 }, (_, index) => at - AROUND + index),
    ),
  )
  const marks = { same: ' ', add: '+', del: '-' } as const
  return (
    <div className="json diff" role="group" aria-label={label} tabIndex={0}>
      {lines.map(({ kind, text }, at) => {
        if (lines.length > 12 && !near.has(at)) {
          return near.has(at - 1) || at === 0 ? (
            <div key={at} className="p">
              …
            </div>
          ) : null
        }
        return (
          <div key={at} className={kind === 'same' ? '' : kind}>
            {kind === 'same' ? <i aria-hidden="true">{marks.same}</i> : <i>{marks[kind]}</i>}
            {visible(text)}
          </div>
        )
      })}
    </div>
  )
}
