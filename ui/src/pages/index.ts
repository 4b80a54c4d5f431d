// The pages: a new page is a row here and a file beside this one. The navigation follows from the rows that have `nav`.
// Runs and a run are in the first bundle; the other pages are loaded when they are opened.
import { type ComponentType, lazy } from 'react'
import type { NavItem } from '../components/nav-item.ts'
import { paths } from '../data/pages.ts'
import { text } from '../text.ts'
import { pageText } from '../texts/pages.ts'
import { RunPage, WorkflowIdPage } from './run.tsx'
import { RunsPage } from './runs.tsx'

interface Page {
  readonly path: string
  readonly component: ComponentType
  readonly nav?: NavItem
}

const OverviewPage = lazy(async () => ({ default: (await import('./overview.tsx')).OverviewPage }))
const StartPage = lazy(async () => ({ default: (await import('./start.tsx')).StartPage }))
const SchedulesPage = lazy(async () => ({ default: (await import('./schedules.tsx')).SchedulesPage }))
const DefinitionsPage = lazy(async () => ({ default: (await import('./definitions.tsx')).DefinitionsPage }))
const FleetPage = lazy(async () => ({ default: (await import('./fleet.tsx')).FleetPage }))
const BuildsPage = lazy(async () => ({ default: (await import('./builds.tsx')).BuildsPage }))
const HealthPage = lazy(async () => ({ default: (await import('./health.tsx')).HealthPage }))
const AuditPage = lazy(async () => ({ default: (await import('./audit.tsx')).AuditPage }))
const TokensPage = lazy(async () => ({ default: (await import('./tokens.tsx')).TokensPage }))

const { nav } = pageText

export const pages: readonly Page[] = [
  {
    path: paths.overview,
    component: OverviewPage,
    nav: { path: paths.overview, label: nav.overview, icon: 'home', key: 'o', isMain: true },
  },
  {
    path: '/runs',
    component: RunsPage,
    nav: { path: '/runs', label: text.nav.runs, icon: 'runs', key: 'r', isMain: true },
  },
  { path: '/runs/:run/:tab?', component: RunPage },
  { path: '/w/:id/:tab?', component: WorkflowIdPage },
  {
    path: `${paths.start}/:workflow?`,
    component: StartPage,
    nav: { path: paths.start, label: nav.start, icon: 'plus', key: 'n' },
  },
  {
    path: `${paths.schedules}/:schedule?`,
    component: SchedulesPage,
    nav: { path: paths.schedules, label: nav.schedules, icon: 'clock', key: 's' },
  },
  {
    path: `${paths.definitions}/:name?`,
    component: DefinitionsPage,
    nav: { path: paths.definitions, label: nav.definitions, icon: 'defs', key: 'd' },
  },
  {
    path: `${paths.fleet}/:worker?`,
    component: FleetPage,
    nav: {
      ...{ path: paths.fleet, label: nav.fleet, icon: 'workers', key: 'w', isMain: true, short: 'Workers' },
      group: nav.groups.fleet,
    },
  },
  {
    path: paths.builds,
    component: BuildsPage,
    nav: { path: paths.builds, label: nav.builds, icon: 'build', key: 'b' },
  },
  {
    path: paths.health,
    component: HealthPage,
    nav: { path: paths.health, label: nav.health, icon: 'pulse', key: 'h', group: nav.groups.system },
  },
  { path: paths.audit, component: AuditPage, nav: { path: paths.audit, label: nav.audit, icon: 'audit', key: 'a' } },
  {
    path: paths.tokens,
    component: TokensPage,
    nav: { path: paths.tokens, label: nav.tokens, icon: 'shield', key: 'k' },
  },
]

/** Where `/` leads. */
export const FIRST = paths.overview
