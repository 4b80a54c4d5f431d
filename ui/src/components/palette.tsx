// The way to everything by keyboard: pages, runs by the beginning of their id, views, the theme.
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { runPath, runsPath } from '../data/address.ts'
import { client } from '../data/client.ts'
import { changeSettings, useSettings } from '../data/settings.ts'
import { text } from '../text.ts'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import type { NavItem } from './nav-item.ts'

interface Entry {
  readonly icon: string
  readonly label: string
  readonly more?: string
  readonly act: () => void
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export function Palette({
  items,
  onClose,
}: {
  readonly items: readonly NavItem[]
  readonly onClose: () => void
}): ReactNode {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries(items, typed.trim())
  const chosen = Math.min(at, entries.length - 1)
  const act = (entry: Entry | undefined): void => {
    if (!entry) return
    onClose()
    entry.act()
  }
  const press = (event: KeyboardEvent): void => {
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (move !== 0) {
      event.preventDefault()
      setAt(Math.max(0, Math.min(entries.length - 1, chosen + move)))
    }
    if (event.key === 'Enter') act(entries[chosen])
  }
  return (
    <Dialog title={text.find} onClose={onClose} kind="finder">
      <input
        className="find"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={`found-${chosen}`}
        aria-label={text.find}
        placeholder={text.find}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={press}
      />
      <ul id="found" role="listbox" aria-label={text.find}>
        {entries.map((entry, index) => (
          <li
            key={`${entry.icon} ${entry.label}`}
            id={`found-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => act(entry)}
          >
            <Icon name={entry.icon} small />
            <span className="cut">{entry.label}</span>
            <span className="muted">{entry.more}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function useEntries(items: readonly NavItem[], typed: string): readonly Entry[] {
  const [, go] = useLocation()
  const { theme, utc } = useSettings()
  const isId = UUID.test(typed)
  const found = useQuery({
    queryKey: ['palette', typed],
    queryFn: () => client().list({ workflowIdPrefix: typed }, { limit: 8 }),
    enabled: typed.length > 1 && !isId,
  })
  const runs = (found.data?.items ?? []).map(({ runId, workflowId, name, status }) => ({
    ...{ icon: `st-${status}`, label: workflowId, more: name },
    act: () => go(runPath(runId)),
  }))
  const fixed: readonly Entry[] = [
    ...items.map(({ path, label, icon, key }) => ({ icon, label, more: `g ${key}`, act: () => go(path) })),
    ...Object.entries({ paused: 'status:paused', failed: 'status:failed', waiting: 'status:waiting' }).map(
      ([view, query]) => ({ icon: 'filter', label: `Runs: ${view}`, more: query, act: () => go(runsPath(query)) }),
    ),
    ...(['system', 'light', 'dark'] as const)
      .filter((each) => each !== theme)
      .map((each) => ({ icon: 'moon', label: text.theme[each], act: () => changeSettings({ theme: each }) })),
    {
      icon: 'clock',
      label: utc ? text.times.local : text.times.utc,
      more: 't',
      act: () => changeSettings({ utc: !utc }),
    },
  ]
  const words = typed.toLowerCase().split(/\s+/)
  const matching = fixed.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  const byId = isId ? [{ icon: 'runs', label: typed, more: 'run', act: () => go(runPath(typed)) }] : []
  return [...byId, ...runs, ...matching]
}
