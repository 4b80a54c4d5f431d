import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { shared, useShared } from '../data/store.ts'
import { text } from '../text.ts'

interface Toast {
  readonly id: number
  readonly message: string
  readonly isError: boolean
  readonly href?: string
}

const SHOWN_MS = 6_000
const toasts = shared<readonly Toast[]>([])
let last = 0

/** Tells the reader what became of an act. */
export function toast(message: string, more: { readonly href?: string; readonly isError?: boolean } = {}): void {
  const { href, isError = false } = more
  const id = ++last
  toasts.set([...toasts.get().slice(-3), { id, message, isError, ...(href !== undefined && { href }) }])
  setTimeout(() => toasts.set(toasts.get().filter((each) => each.id !== id)), SHOWN_MS)
}

export function Toasts(): ReactNode {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {useShared(toasts).map(({ id, message, href, isError }) => (
        <p key={id} className={isError ? 'toast bad' : 'toast'}>
          {message} {href !== undefined && <Link href={href}>{text.operate.open}</Link>}
        </p>
      ))}
    </div>
  )
}
