// The pages: a new page is a row here and a file beside this one. The navigation follows from the rows that have `nav`.
import type { ComponentType } from 'react'
import type { NavItem } from '../components/nav-item.ts'
import { text } from '../text.ts'
import { RunPage, WorkflowIdPage } from './run.tsx'
import { RunsPage } from './runs.tsx'

interface Page {
  readonly path: string
  readonly component: ComponentType
  readonly nav?: NavItem
}

export const pages: readonly Page[] = [
  { path: '/runs', component: RunsPage, nav: { path: '/runs', label: text.nav.runs, icon: 'runs', key: 'r' } },
  { path: '/runs/:run/:tab?', component: RunPage },
  { path: '/w/:id/:tab?', component: WorkflowIdPage },
]

/** Where `/` leads. */
export const FIRST = '/runs'
