// What a reader chooses for this browser, and the token of this tab.
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

export interface Settings {
  readonly theme: Theme
  readonly utc: boolean
  /** Single keys are shortcuts. */
  readonly keys: boolean
  readonly foldIdle: boolean
}

const KEY = 'pawl.settings'
const TOKEN = 'pawl.token'
const usual: Settings = { theme: 'system', utc: true, keys: true, foldIdle: true }
const listeners = new Set<() => void>()
let current: Settings = { ...usual, ...stored() }

function stored(): Partial<Settings> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>
  } catch {
    return {}
  }
}

export function changeSettings(change: Partial<Settings>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(KEY, JSON.stringify(current))
  } catch {
    // Storage may be full or forbidden: the choice then lasts as long as the page.
  }
  applyTheme()
  for (const each of listeners) each()
}

export function applyTheme(): void {
  const { theme } = current
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function settings(): Settings {
  return current
}

export function useSettings(): Settings {
  const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return useSyncExternalStore(subscribe, settings)
}

/** The token lives as long as the tab: other tabs and later visits do not have it. */
export function tokenOfTab(): string | undefined {
  return sessionStorage.getItem(TOKEN) ?? undefined
}

export function keepToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(TOKEN)
  else sessionStorage.setItem(TOKEN, token)
}
