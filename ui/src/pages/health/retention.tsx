// For how long ended runs are kept: the policy, what it has deleted, and another one after a count.
import { useQuery } from '@tanstack/react-query'
import type { OperationInput, OperationOutput } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Act, Field, ReadOnly } from '../../components/act.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { Section } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { client } from '../../data/client.ts'
import { count, plural, shellWord } from '../../data/format.ts'
import { pageText } from '../../texts/pages.ts'

export type Retention = OperationOutput<'retention.get'>['retention']
type Policy = OperationInput<'retention.set'>

const words = pageText.retention

export function RetentionSection({ retention }: { readonly retention: Retention }): ReactNode {
  const actions = (
    <>
      <SetKeep policy={retention?.policy ?? {}} />
      {retention && <Remove />}
    </>
  )
  return (
    <Section
      title={words.title}
      about={retention ? words.deleted(count(retention.purged)) : undefined}
      actions={actions}
    >
      <div className="pad">
        {!retention && <p className="two">{words.forever}</p>}
        {retention && <JsonView value={retention.policy} label={words.policy} />}
        {retention?.lastPass && (
          <p className="muted">
            {words.lastPass} <Time at={retention.lastPass.at} />
          </p>
        )}
        <ReadOnly needs="admin" />
      </div>
    </Section>
  )
}

/** How many runs it deletes at once is counted before it can be set. */
function SetKeep({ policy }: { readonly policy: Policy }): ReactNode {
  const [keep, setKeep] = useState('90d')
  const [typed, setTyped] = useState('')
  const isTime = /^(?:forever|\d+(?:\.\d+)?[smhdw])$/.test(keep)
  const next = { ...policy, keep } as Policy
  const found = useQuery({
    queryKey: ['purge', next],
    queryFn: () => client().call('retention.purge', { policy: next, dryRun: true }),
    enabled: isTime && typed !== '',
  })
  const more = found.data?.next === undefined ? '' : words.atLeast
  return (
    <Act
      needs="admin"
      isDangerous
      verb={words.set}
      title={words.setTitle}
      about={words.setAbout}
      command={['pawl', 'retention', 'set', '--keep', keep].map(shellWord).join(' ')}
      isReady={isTime && typed === words.word}
      fields={
        <>
          <Field label={words.keep} value={keep} onChange={setKeep} isRequired />
          <Field label={words.type} value={typed} onChange={setTyped} isRequired />
          <p role="status" className="strong">
            {found.data && `${more}${words.now(plural(found.data.purged, 'run'))}`}
          </p>
        </>
      }
      act={async () => {
        await client().call('retention.set', next)
        return words.done
      }}
    />
  )
}

function Remove(): ReactNode {
  return (
    <Act
      needs="admin"
      verb={words.remove}
      title={words.removeTitle}
      about={words.removeAbout}
      command="pawl retention remove"
      act={async () => {
        await client().call('retention.remove', {})
        return words.removed
      }}
    />
  )
}
