import type { ReactNode } from 'react'
import { text } from '../text.ts'
import { Icon } from './icon.tsx'
import { toast } from './toasts.tsx'

export function copy(value: string): void {
  navigator.clipboard.writeText(value).then(
    () => toast(text.copied),
    () => {},
  )
}

export function CopyButton({
  value,
  label = text.copy,
}: {
  readonly value: string
  readonly label?: string
}): ReactNode {
  return (
    <button type="button" className="btn quiet icon" aria-label={label} title={label} onClick={() => copy(value)}>
      <Icon name="copy" small />
    </button>
  )
}
