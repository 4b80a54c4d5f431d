// The frame of the pages around runs: the bar on top, and one scrolling region below it.
import { type ReactNode, useEffect } from 'react'
import { text } from '../text.ts'
import { Top } from './shell.tsx'

interface PageProps {
  readonly title: string
  /** What the page is about, beside its title: `settlement` of Schedules. */
  readonly crumbs?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function PageFrame({ title, crumbs, actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · ${text.product}`
  }, [title])
  return (
    <>
      <Top actions={actions}>{crumbs ?? <h1>{title}</h1>}</Top>
      <div className="page" role="region" aria-label={title} tabIndex={0}>
        {children}
      </div>
    </>
  )
}

/** A part of a page, with its heading and what can be done with it. */
export function Section({
  title,
  about,
  actions,
  children,
}: {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}): ReactNode {
  return (
    <section className="part" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {about !== undefined && <span className="muted">{about}</span>}
        <span className="grow" />
        {actions}
      </header>
      {children}
    </section>
  )
}

/** The answer of a page in one sentence, and the evidence in one more. */
export function Answer({ title, about }: { readonly title: string; readonly about: ReactNode }): ReactNode {
  return (
    <div className="answer">
      <p className="says">{title}</p>
      <p className="two">{about}</p>
    </div>
  )
}

export function Figure({
  label,
  value,
  about,
  kind = '',
}: {
  readonly label: string
  readonly value: string
  readonly about?: ReactNode
  readonly kind?: string
}): ReactNode {
  return (
    <div className="figure">
      <span className="muted">{label}</span>
      <b className={kind}>{value}</b>
      <span className="two">{about}</span>
    </div>
  )
}
