// Saved views: a filter with a name, kept in the store and shared by all who use it.
import type { OperationOutput } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Act, Field } from '../../components/act.tsx'
import { runsPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { visible } from '../../data/format.ts'
import { usePolled } from '../../data/polled.ts'
import { pageText } from '../../texts/pages.ts'

type View = OperationOutput<'views.list'>['items'][number]

const EVERY_MS = 60_000
const words = pageText.views

export function useSavedViews(): readonly View[] {
  const query = usePolled(['views'], async () => (await client().call('views.list', {})).items, { everyMs: EVERY_MS })
  return query.data ?? []
}

export function SavedViews({ query, views }: { readonly query: string; readonly views: readonly View[] }): ReactNode {
  return views.map((view) => (
    <Link key={view.name} href={runsPath(view.query)} aria-current={query === view.query ? 'page' : undefined}>
      {visible(view.name)}
    </Link>
  ))
}

/** Saves the filter that is shown; or deletes the view that it is. */
export function ViewOperations({
  query,
  views,
}: {
  readonly query: string
  readonly views: readonly View[]
}): ReactNode {
  const [name, setName] = useState('')
  const current = views.find((view) => view.query === query)
  if (query === '') return null
  if (current) {
    return (
      <Act
        verb={words.remove}
        title={words.removeTitle(visible(current.name))}
        about={words.removeAbout}
        isDangerous
        act={async () => {
          await client().call('views.delete', { view: current.name })
          return words.removed(current.name)
        }}
      />
    )
  }
  return (
    <Act
      verb={words.save}
      title={words.title}
      about={words.about}
      isReady={name.trim() !== ''}
      fields={
        <>
          <Field label={words.name} value={name} onChange={setName} isRequired />
          <p className="two">
            {words.query}: <code>{visible(query)}</code>
          </p>
        </>
      }
      act={async () => {
        await client().call('views.set', { view: name.trim(), query })
        setName('')
        return words.saved(name.trim())
      }}
    />
  )
}
