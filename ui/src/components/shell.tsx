// What is around every page: the navigation, the bar on top, the palette and the help for keys.
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { client, signOut } from '../data/client.ts'
import { clock, duration } from '../data/format.ts'
import { useKeys } from '../data/keys.ts'
import { connection } from '../data/live.ts'
import { useNow } from '../data/now.ts'
import { changeSettings, type Theme, tokenOfTab, useSettings } from '../data/settings.ts'
import { shared, useShared } from '../data/store.ts'
import { text } from '../text.ts'
import { copy } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { KeyHelp } from './key-help.tsx'
import type { NavItem } from './nav-item.ts'
import { Palette } from './palette.tsx'

const opened = shared<'palette' | 'keys' | 'more' | undefined>(undefined)

export function openPalette(): void {
  opened.set('palette')
}

const nextTheme: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

export function Shell({
  items,
  children,
}: {
  readonly items: readonly NavItem[]
  readonly children: ReactNode
}): ReactNode {
  const [, go] = useLocation()
  const open = useShared(opened)
  const { utc } = useSettings()
  const close = (): void => opened.set(undefined)
  useKeys({
    ...Object.fromEntries(items.map(({ key, path }) => [`g ${key}`, () => go(path)])),
    'mod+k': () => opened.set('palette'),
    '?': () => opened.set('keys'),
    t: () => changeSettings({ utc: !utc }),
    y: () => copy(location.href),
  })
  return (
    <div className="app">
      <a className="sr skip" href="#content">
        {text.skip}
      </a>
      <Side items={items} />
      <main className="main" id="content">
        {children}
      </main>
      <BottomBar items={items} />
      {open === 'palette' && <Palette items={items} onClose={close} />}
      {open === 'keys' && <KeyHelp onClose={close} />}
      {open === 'more' && <More items={items} onClose={close} />}
    </div>
  )
}

function useIsCurrent(): (path: string) => 'page' | undefined {
  const [here] = useLocation()
  return (path) => (here === path || here.startsWith(`${path}/`) ? 'page' : undefined)
}

function Side({ items }: { readonly items: readonly NavItem[] }): ReactNode {
  const isCurrent = useIsCurrent()
  return (
    <nav className="side" aria-label={text.nav.main}>
      <Link className="brand" href="/">
        <Icon name="pawl" />
        <span className="t">{text.product}</span>
      </Link>
      {items.map(({ path, label, icon, group }) => (
        <Fragment key={path}>
          {group !== undefined && (
            <span className="group">
              <span className="t">{group}</span>
            </span>
          )}
          <Link className="nav" href={path} aria-current={isCurrent(path)} title={label}>
            <Icon name={icon} />
            <span className="t">{label}</span>
          </Link>
        </Fragment>
      ))}
      <Foot />
    </nav>
  )
}

function Foot(): ReactNode {
  const { theme, utc } = useSettings()
  const health = useQuery({ queryKey: ['health'], queryFn: () => client().health(), refetchInterval: 30_000 })
  return (
    <div className="foot">
      <Live />
      <span className="cut mono" title={health.data?.store}>
        {health.data?.store ?? ' '}
      </span>
      <span className="row">
        <span className="grow">{health.data ? `pawl ${health.data.version}` : ''}</span>
        <button
          type="button"
          className="btn quiet icon"
          title={utc ? text.times.utc : text.times.local}
          aria-label={utc ? text.times.utc : text.times.local}
          onClick={() => changeSettings({ utc: !utc })}
        >
          <Icon name="clock" small />
        </button>
        <button
          type="button"
          className="btn quiet icon"
          title={text.theme[theme]}
          aria-label={text.theme[theme]}
          onClick={() => changeSettings({ theme: nextTheme[theme] })}
        >
          <Icon name={theme === 'dark' ? 'moon' : theme === 'light' ? 'sun' : 'gauge'} small />
        </button>
      </span>
      {tokenOfTab() !== undefined && (
        <button type="button" className="btn quiet" onClick={signOut}>
          {text.signIn.out}
        </button>
      )}
    </div>
  )
}

/** Whether the page hears of changes; if not, since when. */
function Live(): ReactNode {
  const { state, since } = useShared(connection)
  const { utc } = useSettings()
  const now = useNow()
  const time = `${clock(new Date(now), { utc, now })}${utc ? ' UTC' : ''}`
  const word = state === 'lost' ? text.live.lost(duration(now - since)) : text.live[state]
  return <span className={`live ${state}`}>{state === 'lost' ? word : `${word} · ${time}`}</span>
}

function BottomBar({ items }: { readonly items: readonly NavItem[] }): ReactNode {
  const isCurrent = useIsCurrent()
  return (
    <nav className="bottom-nav" aria-label={`${text.nav.main}, narrow`}>
      {items
        .filter(({ isMain }) => isMain)
        .map(({ path, label, icon, short = label }) => (
          <Link key={path} href={path} aria-current={isCurrent(path)}>
            <Icon name={icon} />
            {short}
          </Link>
        ))}
      <button type="button" onClick={openPalette}>
        <Icon name="search" />
        {text.nav.find}
      </button>
      <button type="button" onClick={() => opened.set('more')}>
        <Icon name="menu" />
        {text.nav.more}
      </button>
    </nav>
  )
}

/** On a phone: the pages that the bar has no room for, and the choices of the side bar's foot. */
function More({ items, onClose }: { readonly items: readonly NavItem[]; readonly onClose: () => void }): ReactNode {
  const isCurrent = useIsCurrent()
  return (
    <Dialog title={text.nav.more} onClose={onClose}>
      <nav className="more-nav" aria-label={text.nav.more}>
        {items.map(({ path, label, icon }) => (
          <Link key={path} className="nav" href={path} aria-current={isCurrent(path)} onClick={onClose}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </nav>
      <Foot />
    </Dialog>
  )
}

/** The bar on top of a page: where the reader is, and the way to everything else. */
export function Top({ children, actions }: { readonly children: ReactNode; readonly actions?: ReactNode }): ReactNode {
  const [modifier] = useState(() => (/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl '))
  return (
    <header className="top">
      <div className="crumbs">{children}</div>
      <button type="button" className="palette" onClick={openPalette} title={text.find}>
        <Icon name="search" small />
        <span className="grow">{text.find}</span>
        <kbd>{`${modifier}K`}</kbd>
      </button>
      {actions}
    </header>
  )
}
