import { type ReactNode, useEffect, useRef } from 'react'
import { text } from '../text.ts'
import { Icon } from './icon.tsx'

/** A modal dialog. The browser keeps the focus in it, and gives it back to where it came from. */
export function Dialog({
  title,
  onClose,
  children,
  kind = 'form',
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly kind?: 'form' | 'wide' | 'finder'
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={kind === 'wide' ? 'form wide' : kind}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className="inside">
        {kind !== 'finder' && (
          <header>
            <h2>{title}</h2>
            <button type="button" className="btn quiet icon" aria-label={text.close} onClick={onClose}>
              <Icon name="x" small />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  )
}
