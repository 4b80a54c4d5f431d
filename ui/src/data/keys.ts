// Single keys and two-key sequences such as `g r`. They are off while a field has the focus or a dialog is open.
import { useEffect, useRef } from 'react'
import { settings } from './settings.ts'

export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => void>>

const SEQUENCE_MS = 1_000
let first = ''
let firstAt = 0

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

/** `⌘K` and `ctrl K` are `mod+k`. */
function nameOf(event: KeyboardEvent): string {
  return event.metaKey || event.ctrlKey ? `mod+${event.key.toLowerCase()}` : event.key
}

export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return
      const name = nameOf(event)
      const isSingle = !name.startsWith('mod+') && event.key.length === 1
      // Nothing is typed into a checkbox or a slider.
      const isBox = event.target instanceof HTMLInputElement && /^(?:checkbox|range)$/.test(event.target.type)
      if (!name.startsWith('mod+') && isTyping(event.target) && !isBox) return
      if (!name.startsWith('mod+') && document.querySelector('dialog[open]') !== null) return
      if (isSingle && !settings().keys) return
      const pair = Date.now() - firstAt < SEQUENCE_MS ? `${first} ${name}` : ''
      const act = latest.current[pair] ?? (first === 'g' && pair !== '' ? undefined : latest.current[name])
      if (name === 'g') {
        first = 'g'
        firstAt = Date.now()
        return
      }
      if (!act) return
      first = ''
      event.preventDefault()
      act(event)
    }
    window.addEventListener('keydown', hear)
    return () => window.removeEventListener('keydown', hear)
  }, [])
}
