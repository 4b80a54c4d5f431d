// What needs a person now, and whether the system keeps up.
import type { OperationOutput } from 'pawl/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon } from '../components/icon.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Answer, Figure, PageFrame, Section } from '../components/page.tsx'
import { StartLink } from '../components/start-link.tsx'
import { Teach } from '../components/states.tsx'
import { Countdown, Ticking } from '../components/time.tsx'
import { runsPath } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, plural, visible } from '../data/format.ts'
import { paths, schedulePath, startPath } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { text, waitingText } from '../text.ts'
import { pageText } from '../texts/pages.ts'
import { type Need, needsOf } from './overview/needs.ts'

const DAY_MS = 86_400_000
const EVERY_MS = 10_000
const REASONS = 12
const SLOTS = 5
/** Schedules and batches are runs, too; that they wait says nothing. */
const OWN = ['pawl.schedule', 'pawl.batch', 'pawl.retention']
const words = pageText.overview

type Groups = OperationOutput<'runs.groups'>['items']

interface Look {
  readonly health: OperationOutput<'health.get'>
  readonly queues: OperationOutput<'queues.list'>['items']
  readonly reasons: Groups
  readonly live: Groups
  readonly today: Groups
  readonly schedules: OperationOutput<'schedules.list'>['items']
  readonly needs: readonly Need[]
  /** No run was ever started. */
  readonly isNew: boolean
}

async function look(): Promise<Look> {
  const pawl = client()
  const since = new Date(Date.now() - DAY_MS)
  const live = { status: ['pending', 'running', 'waiting', 'compensating'] } as const
  const [health, queues, workers, checks, waiting, own, all, today, paused, failed, schedules] = await Promise.all([
    pawl.health(),
    pawl.queues(),
    pawl.workers(),
    pawl.builds.checks(),
    pawl.groups(live, { by: 'reason', limit: REASONS }),
    pawl.groups({ ...live, workflow: OWN }, { by: 'reason' }),
    pawl.groups({}, { by: 'status' }),
    pawl.groups({ startedAfter: since }, { by: 'status' }),
    pawl.groups({ status: 'paused' }, { by: 'reason', limit: 8 }),
    pawl.groups({ status: 'failed', startedAfter: since }, { by: 'reason', limit: 8 }),
    pawl.schedules.list({ limit: 100 }),
  ])
  const reasons = waiting.flatMap((group) => {
    const many = group.count - (own.find(({ key }) => key === group.key)?.count ?? 0)
    return many > 0 ? [{ ...group, count: many }] : []
  })
  const needs = needsOf({ workers, queues, checks, paused, failed, schedules: schedules.items })
  return { health, queues, reasons, live: all, today, schedules: schedules.items, needs, isNew: all.length === 0 }
}

export function OverviewPage(): ReactNode {
  const query = usePolled(['overview'], look, { everyMs: EVERY_MS })
  return (
    <PageFrame title={pageText.nav.overview} actions={<StartLink />}>
      <Loaded query={query} rows={12}>
        {(found) => (found.isNew ? <Teach {...text.runs.empty} title={words.none} /> : <Found {...found} />)}
      </Loaded>
    </PageFrame>
  )
}

function Found(found: Look): ReactNode {
  const { health, needs, schedules } = found
  const title = needs.length === 0 ? words.well : needs.length === 1 ? words.one : words.many(count(needs.length))
  const numbers = words.numbers(plural(health.runs.live, 'run'), plural(health.workers.alive, 'worker'))
  return (
    <>
      <Answer title={title} about={health.status === 'degraded' ? words.degraded : numbers} />
      <div className="split">
        <div>
          {needs.length > 0 && (
            <Section title={words.needs} about={words.needsAbout}>
              <ul className="needs-list">
                {needs.map((need) => (
                  <NeedRow key={`${need.href} ${need.what} ${need.detail}`} need={need} />
                ))}
              </ul>
            </Section>
          )}
          <Numbers {...found} />
          <Reasons {...found} />
        </div>
        <Clock schedules={schedules} />
      </div>
    </>
  )
}

function NeedRow({ need }: { readonly need: Need }): ReactNode {
  const { icon, kind, what, detail, since, count: many, href, action } = need
  return (
    <li>
      <span className={kind}>
        <Icon name={icon} />
      </span>
      <span className="grow">
        <span className="medium cut">{visible(what)}</span>
        <span className="so muted cut">
          {detail !== '' && <code>{visible(detail)}</code>}
          {since && (
            <>
              {' '}
              {words.oldest} <Ticking from={since} />
            </>
          )}
        </span>
      </span>
      <b className="num">{count(many)}</b>
      <Link className="btn" href={href}>
        {action}
      </Link>
    </li>
  )
}

function Numbers({ health, queues, today }: Look): ReactNode {
  const of = (status: string): number => today.find(({ key }) => key === status)?.count ?? 0
  const ended = of('completed') + of('failed') + of('cancelled')
  const due = queues.reduce((sum, each) => sum + each.due, 0)
  const oldest = queues[0]
  return (
    <div className="figures">
      <Figure
        label={words.ended}
        value={count(today.reduce((sum, each) => sum + each.count, 0))}
        about={words.completed(count(of('completed')))}
      />
      <Figure
        label={words.failedShare}
        value={ended === 0 ? '–' : `${((100 * of('failed')) / ended).toFixed(1)} %`}
        about={plural(of('failed'), 'run')}
        kind={of('failed') > 0 ? 'failed' : ''}
      />
      <Figure
        label={words.due}
        value={count(due)}
        about={
          oldest && (
            <Link href={paths.fleet}>
              {words.oldest} <Ticking from={oldest.oldest} />
            </Link>
          )
        }
      />
      <Figure
        label={words.workers}
        value={count(health.workers.alive)}
        about={`of ${count(health.workers.all)}`}
        kind={health.status === 'degraded' ? 'failed' : ''}
      />
    </div>
  )
}

function Reasons({ reasons, live }: Look): ReactNode {
  const running = live.find(({ key }) => key === 'running')
  const pending = live.find(({ key }) => key === 'pending')
  const bars = [
    ...(running ? [{ key: words.running, count: running.count, query: 'status:running', kind: 'running' }] : []),
    ...(pending ? [{ key: 'Waits to be triggered', count: pending.count, query: 'status:pending', kind: '' }] : []),
    ...reasons.map(({ key, count: many }) => {
      const query = `status:waiting,compensating why:${/\s/.test(key) ? `"${key}"` : key}`
      return { key: waitingText(key), count: many, query, kind: '' }
    }),
  ].toSorted((one, other) => other.count - one.count)
  const most = Math.max(1, ...bars.map((bar) => bar.count))
  const all = bars.reduce((sum, bar) => sum + bar.count, 0)
  if (bars.length === 0) return null
  return (
    <Section title={words.reasons} about={words.reasonsAbout(count(all))}>
      <ul className="reason-bars">
        {bars.map(({ key, count: many, query, kind }) => (
          <li key={key}>
            <Link href={runsPath(query)} title={words.byRun} className="cut">
              {visible(key)}
            </Link>
            <span className="num mono">{count(many)}</span>
            <i className={kind} style={{ width: `${(100 * many) / most}%` }} aria-hidden="true" />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Clock({ schedules }: Pick<Look, 'schedules'>): ReactNode {
  const slots = schedules
    .flatMap(({ id, next, workflow }) => next.slice(0, 1).map((at) => ({ id, at, workflow })))
    .toSorted((one, other) => one.at.getTime() - other.at.getTime())
    .slice(0, SLOTS)
  return (
    <Section title={words.next}>
      {slots.length === 0 && <p className="muted pad">{words.noSchedules}</p>}
      <ul className="slots">
        {slots.map(({ id, at, workflow }) => (
          <li key={id}>
            <Link className="mono cut" href={schedulePath(id)}>
              {visible(id)}
            </Link>
            <Link className="muted cut" href={startPath(workflow)}>
              {visible(workflow)}
            </Link>
            <span className="muted nowrap">
              <Countdown until={at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}
