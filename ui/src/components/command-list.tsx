import type { ReactNode } from 'react'
import { visible } from '../data/format.ts'
import { text } from '../text.ts'
import { CopyButton } from './copy-button.tsx'

/** Lines to copy, such as commands, and what each is. */
export function CommandList({
  lines,
}: {
  readonly lines: readonly (readonly [label: string, line: string])[]
}): ReactNode {
  return (
    <dl className="commands">
      {lines.map(([label, line]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            <code className="cut" title={visible(line)}>
              {visible(line)}
            </code>
            <CopyButton value={line} label={`${text.copy}: ${label}`} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
