import type { RunRecord } from 'pawl/client'
import type { ReactNode } from 'react'
import { FailureView } from '../../components/failure-view.tsx'
import { Icon } from '../../components/icon.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { text } from '../../text.ts'

/** Input, result or failure, attributes and memo. */
export function Values({ run }: { readonly run: RunRecord }): ReactNode {
  const { input, output, failure, compensationFailures = [], memo, attributes, unreadable, status } = run
  return (
    <div className="values" tabIndex={0} role="region" aria-label={text.run.tabs.values}>
      {unreadable && (
        <p className="locked">
          <Icon name="shield" small /> {text.run.unreadable}: <code>{unreadable.code}</code> {unreadable.message}
        </p>
      )}
      {failure && (
        <section>
          <h3>{text.run.failure}</h3>
          <FailureView failure={failure} />
        </section>
      )}
      {compensationFailures.length > 0 && (
        <section>
          <h3>{text.run.compensation}</h3>
          {compensationFailures.map((each, index) => (
            <FailureView key={index} failure={each} />
          ))}
        </section>
      )}
      {status === 'completed' && <JsonView value={output} label={text.run.result} />}
      <JsonView value={input} label={text.run.input} />
      {Object.keys(attributes).length > 0 && <JsonView value={attributes} label={text.run.attributes} />}
      {Object.keys(memo).length > 0 && <JsonView value={memo} label={text.run.memo} />}
    </div>
  )
}
