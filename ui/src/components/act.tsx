// Operations of the pages around runs: shown only to those whose token allows them, confirmed in a dialog, and with the
// same as a command.
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useForbidden, useMay } from '../data/me.ts'
import { text } from '../text.ts'
import { pageText } from '../texts/pages.ts'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { Problem } from './states.tsx'
import { toast } from './toasts.tsx'

interface Operation {
  /** The verb of the button and of the dialog. */
  readonly verb: string
  readonly title: string
  /** What it does. */
  readonly about: string
  /** The same for the command line. */
  readonly command?: string
  readonly isDangerous?: boolean
  readonly isReady?: boolean
  readonly fields?: ReactNode
  /** Does it, and says what was done. A path is a link to what it made. */
  readonly act: () => Promise<string | { readonly done: string; readonly href?: string } | undefined>
}

interface ActProps extends Operation {
  readonly needs?: 'operate' | 'admin'
  readonly icon?: string
  readonly isPrimary?: boolean
  readonly label?: string
}

/** The button of an operation. A token that forbids it has no button. */
export function Act({ needs = 'operate', icon, isPrimary = false, label, ...operation }: ActProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  if (!useMay(needs)) return null
  const kind = isPrimary ? 'btn primary' : operation.isDangerous === true ? 'btn quiet danger' : 'btn quiet'
  return (
    <>
      <button type="button" className={kind} aria-label={label ?? operation.verb} onClick={() => setOpen(true)}>
        {icon !== undefined && <Icon name={icon} small />}
        <span>{`${operation.verb}…`}</span>
      </button>
      {isOpen && <ActDialog operation={operation} onClose={() => setOpen(false)} />}
    </>
  )
}

function ActDialog({ operation, onClose }: { readonly operation: Operation; readonly onClose: () => void }): ReactNode {
  const { verb, title, about, command, isDangerous = false, isReady = true, fields, act } = operation
  const [error, setError] = useState<unknown>()
  const [isAsked, setAsked] = useState(false)
  const queries = useQueryClient()
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    setAsked(true)
    try {
      const done = await act()
      await queries.invalidateQueries()
      if (typeof done === 'string') toast(done)
      else if (done) toast(done.done, { ...(done.href !== undefined && { href: done.href }) })
      onClose()
    } catch (problem) {
      setError(problem)
      setAsked(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p className="two">{about}</p>
        {fields}
        {error !== undefined && <Problem error={error} />}
        {command !== undefined && <Command command={command} />}
        <footer>
          <button type="button" className="btn" onClick={onClose}>
            {text.cancel}
          </button>
          <button
            type="submit"
            className={isDangerous ? 'btn primary danger' : 'btn primary'}
            disabled={isAsked || !isReady}
          >
            {verb}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

export function Command({ command }: { readonly command: string }): ReactNode {
  return (
    <dl className="commands">
      <div>
        <dt>{text.operate.cli}</dt>
        <dd>
          <code className="cut" title={command}>
            {command}
          </code>
          <CopyButton value={command} label={`${text.copy}: ${text.operate.cli}`} />
        </dd>
      </div>
    </dl>
  )
}

/** Says once on a page what the token cannot do there. */
export function ReadOnly({ needs = 'operate' }: { readonly needs?: 'operate' | 'admin' }): ReactNode {
  const forbidden = useForbidden(needs)
  if (forbidden === undefined) return null
  return (
    <p className="read-only muted">
      <Icon name="shield" small /> {pageText.readOnly} {forbidden}
    </p>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isRequired?: boolean
  readonly type?: 'text' | 'datetime-local' | 'number' | 'date'
  readonly hint?: string
}

export function Field({ label, value, onChange, isRequired = false, type = 'text', hint }: FieldProps): ReactNode {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="text"
        type={type}
        value={value}
        required={isRequired}
        placeholder={hint}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}
