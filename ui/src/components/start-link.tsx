import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useMay } from '../data/me.ts'
import { paths, startPath } from '../data/pages.ts'
import { pageText } from '../texts/pages.ts'
import { Icon } from './icon.tsx'

/** The way to start a run, of one workflow or of any; not for tokens that only read. */
export function StartLink({ workflow }: { readonly workflow?: string }): ReactNode {
  if (!useMay('operate')) return null
  const label = workflow === undefined ? pageText.nav.start : pageText.definitions.start
  return (
    <Link className="btn primary" href={workflow === undefined ? paths.start : startPath(workflow)} title={label}>
      <Icon name="plus" small />
      <span>{label}</span>
    </Link>
  )
}
