import type { ReactNode } from 'react'
import { changeSettings, useSettings } from '../data/settings.ts'
import { text } from '../text.ts'
import { Dialog } from './dialog.tsx'

/** All keys, and the switch that turns single keys off. */
export function KeyHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { keys } = useSettings()
  return (
    <Dialog title={text.keys.title} onClose={onClose}>
      <label className="row">
        <input
          type="checkbox"
          className="check"
          checked={keys}
          onChange={({ target }) => changeSettings({ keys: target.checked })}
        />
        {text.keys.single}
      </label>
      <dl className="keys">
        {text.keys.list.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
