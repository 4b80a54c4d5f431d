// A failure: its type and message, its causes, and its stack with the frames of the user's code first.
import type { RunRecord } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { jsonOf, visible } from '../data/format.ts'
import { CopyButton } from './copy-button.tsx'

export type Failure = NonNullable<RunRecord['failure']>

const LIBRARY = /node_modules|\(node:|at node:|internal\/|\/pawl\/(?:src|dist)\//

export function FailureView({ failure }: { readonly failure: Failure }): ReactNode {
  const { type, message, code, retryable, details, cause } = failure
  return (
    <div className="failure">
      <p className="stack">
        <b>
          {visible(type)}: {visible(message)}
        </b>
        {code !== undefined && code !== type && <span className="tag">{visible(code)}</span>}
        {!retryable && <span className="tag">not retried</span>}
      </p>
      {failure.stack !== undefined && <StackView stack={failure.stack} />}
      {details !== undefined && <pre className="json">{visible(jsonOf(details)).replaceAll('␊', '\n')}</pre>}
      {cause && (
        <div className="cause">
          <p className="muted">caused by</p>
          <FailureView failure={cause} />
        </div>
      )}
    </div>
  )
}

/** The frames of a stack: those of libraries are folded. */
export function StackView({ stack }: { readonly stack: string }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  if (frames.length === 0) return null
  const own = frames.filter((frame) => !LIBRARY.test(frame))
  const shown = isWhole || own.length === 0 ? frames : own
  const hidden = frames.length - shown.length
  return (
    <div className="stack frames">
      <ol>
        {shown.map((frame, index) => (
          <li key={index} className={LIBRARY.test(frame) ? 'lib' : ''}>
            {visible(frame.trim())}
          </li>
        ))}
      </ol>
      <p>
        {hidden > 0 && (
          <button type="button" className="btn quiet" onClick={() => setWhole(true)}>
            {`${hidden} frames of libraries`}
          </button>
        )}
        <CopyButton value={stack} label="Copy the stack" />
      </p>
    </div>
  )
}
