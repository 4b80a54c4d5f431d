// What a region shows while it has nothing to show: loading, empty, or an error.
import type { ReactNode } from 'react'
import { codeOf } from '../data/client.ts'
import { visible } from '../data/format.ts'
import { text } from '../text.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'

export function Problem({ error, onAgain }: { readonly error: unknown; readonly onAgain?: () => void }): ReactNode {
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div className="state" role="alert">
      <Icon name="st-failed" />
      <div>
        <p className="strong">{text.problem.title}</p>
        <p className="two">{visible(message)}</p>
        <p className="muted">
          {text.problem.request} <code>{codeOf(error)}</code>
        </p>
        {onAgain && (
          <button type="button" className="btn" onClick={onAgain}>
            {text.problem.again}
          </button>
        )}
      </div>
    </div>
  )
}

/** What would be here, and the command that puts something here. */
export function Teach({
  title,
  about,
  command,
  children,
}: {
  readonly title: string
  readonly about: string
  readonly command?: string
  readonly children?: ReactNode
}): ReactNode {
  return (
    <div className="state teach">
      <div>
        <p className="strong">{title}</p>
        <p className="two">{about}</p>
        {command !== undefined && (
          <div className="snippet">
            <pre>{command}</pre>
            <CopyButton value={command} />
          </div>
        )}
        {children}
      </div>
    </div>
  )
}

/** Rows of the final height, so that nothing moves when the answer comes. */
export function Skeleton({ rows = 12 }: { readonly rows?: number }): ReactNode {
  return (
    <div className="skeleton" aria-busy="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index}>
          <i />
        </div>
      ))}
    </div>
  )
}
