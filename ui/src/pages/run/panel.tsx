import type { ReactNode } from 'react'
import { Icon } from '../../components/icon.tsx'
import { useKeys } from '../../data/keys.ts'
import { text } from '../../text.ts'

interface PanelProps {
  readonly title: string
  readonly more?: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Details at the right; on a phone a page of its own. */
export function Panel({ title, more, onClose, children }: PanelProps): ReactNode {
  useKeys({ Escape: onClose })
  return (
    <aside className="panel" aria-label={title}>
      <div className="ph">
        {more}
        <h2 className="cut">{title}</h2>
        <span className="grow" />
        <button type="button" className="btn quiet icon" aria-label={text.close} onClick={onClose}>
          <Icon name="x" small />
        </button>
      </div>
      {children}
    </aside>
  )
}
