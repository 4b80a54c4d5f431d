import type { RunRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { visible } from '../data/format.ts'

/** The attributes of a run. */
export function Tags({ attributes }: { readonly attributes: RunRecord['attributes'] }): ReactNode {
  return Object.entries(attributes).map(([name, value]) => (
    <span key={name} className="tag">
      <span className="k">{visible(name)}</span>
      {visible(value instanceof Date ? value.toISOString() : String(value))}
    </span>
  ))
}
