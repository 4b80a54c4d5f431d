import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

const known = new Set(['pending', 'running', 'waiting', 'paused', 'compensating', 'completed', 'failed', 'cancelled'])

/** A status: its own shape, its colour and its word. */
export function StatusMark({ status, word = true }: { readonly status: string; readonly word?: boolean }): ReactNode {
  const name = known.has(status) ? status : 'none'
  return (
    <span className={`status ${name}`}>
      <Icon name={`st-${name}`} />
      <span className={word ? 'w' : 'sr'}>{status}</span>
    </span>
  )
}
