// Tokens of the API: made, shown once, and revoked.
import type { OperationOutput } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Act, Field } from '../components/act.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageFrame } from '../components/page.tsx'
import { Teach } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { client, signIn } from '../data/client.ts'
import { shellWord, visible } from '../data/format.ts'
import { useForbidden } from '../data/me.ts'
import { usePolled } from '../data/polled.ts'
import { tokenOfTab } from '../data/settings.ts'
import { text } from '../text.ts'
import { pageText } from '../texts/pages.ts'

type Token = OperationOutput<'tokens.list'>['items'][number]
type Scope = Token['scope']

const EVERY_MS = 15_000
const words = pageText.tokens

export function TokensPage(): ReactNode {
  const forbidden = useForbidden('admin')
  const [made, setMade] = useState<string>()
  return (
    <>
      {forbidden === undefined ? (
        <List onMade={setMade} />
      ) : (
        <PageFrame title={pageText.nav.tokens}>
          <Teach title={words.needs} about={forbidden} command={pageText.audit.command} />
        </PageFrame>
      )}
      {made !== undefined && (
        <Dialog title={words.made} onClose={() => setMade(undefined)}>
          <div className="snippet">
            <code>{made}</code>
            <CopyButton value={made} />
          </div>
          <footer>
            <button type="button" className="btn primary" onClick={() => setMade(undefined)}>
              {text.close}
            </button>
          </footer>
        </Dialog>
      )}
    </>
  )
}

function List({ onMade }: { readonly onMade: (token: string) => void }): ReactNode {
  const query = usePolled(['tokens'], async () => (await client().call('tokens.list', {})).items, { everyMs: EVERY_MS })
  const isFirst = query.data?.length === 0
  return (
    <PageFrame title={pageText.nav.tokens} actions={<Create isFirst={isFirst} onMade={onMade} />}>
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <Teach {...words.empty} />
          ) : (
            <DataTable label={words.list} columns={columns} rows={items} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
    </PageFrame>
  )
}

interface CreateProps {
  /** From now on the server needs a token, and this page uses the new one. */
  readonly isFirst: boolean
  readonly onMade: (token: string) => void
}

function Create({ isFirst, onMade }: CreateProps): ReactNode {
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('read')
  const [ends, setEnds] = useState('')
  return (
    <Act
      needs="admin"
      isPrimary
      icon="plus"
      verb={words.create}
      title={words.createTitle}
      about={words.createAbout}
      command={['pawl', 'token', 'create', name || '<name>', '--scope', scope].map(shellWord).join(' ')}
      isReady={name.trim() !== ''}
      fields={
        <>
          <Field label={words.name} value={name} onChange={setName} isRequired />
          <label className="field">
            <span>{words.scope}</span>
            <select className="text" value={scope} onChange={({ target }) => setScope(target.value as Scope)}>
              {(['read', 'operate', 'admin'] as const).map((each) => (
                <option key={each} value={each}>
                  {words.scopes[each]}
                </option>
              ))}
            </select>
          </label>
          <Field label={words.expires} type="date" value={ends} onChange={setEnds} />
        </>
      }
      act={async () => {
        const expiresAt = ends === '' ? {} : { expiresAt: new Date(`${ends}T00:00:00Z`) }
        const { token } = await client().call('tokens.create', { name, scope, ...expiresAt })
        onMade(token)
        if (isFirst && tokenOfTab() === undefined) await signIn(token)
        setName('')
        return undefined
      }}
    />
  )
}

const heads = words.columns
const columns: readonly Column<Token>[] = [
  { head: heads.name, cell: ({ name }) => <b className="medium">{visible(name)}</b>, narrow: 'main' },
  { head: heads.scope, cell: ({ scope }) => scope, width: 110, narrow: 'side' },
  { head: heads.id, cell: ({ id }) => <code>{id}</code>, width: 150, narrow: 'below' },
  { head: heads.created, cell: ({ createdAt }) => <Time at={createdAt} />, width: 140 },
  { head: heads.ends, cell: (token) => <Ends token={token} />, width: 160, narrow: 'below' },
  { head: 'Operations', cell: (token) => <Revoke token={token} />, width: 130, narrow: 'below' },
]

function Ends({ token: { expiresAt, revokedAt } }: { readonly token: Token }): ReactNode {
  if (revokedAt) return <span className="muted">{words.revoked}</span>
  if (!expiresAt) return words.never
  if (expiresAt.getTime() <= Date.now()) return <span className="muted">{words.expired}</span>
  return <Time at={expiresAt} />
}

function Revoke({ token: { id, name, revokedAt } }: { readonly token: Token }): ReactNode {
  if (revokedAt) return null
  return (
    <Act
      needs="admin"
      isDangerous
      verb={words.revoke}
      label={`${words.revoke} ${visible(name)}`}
      title={words.revokeTitle(visible(name))}
      about={words.revokeAbout}
      command={['pawl', 'token', 'revoke', id].map(shellWord).join(' ')}
      act={async () => {
        await client().call('tokens.revoke', { token: id })
        return undefined
      }}
    />
  )
}
