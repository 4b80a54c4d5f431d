// Built-in views, each with its count, and what needs a person.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon } from '../../components/icon.tsx'
import { Ticking } from '../../components/time.tsx'
import { runsPath } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { count, plural, visible } from '../../data/format.ts'
import { text } from '../../text.ts'

const LIVE = ['pending', 'running', 'waiting', 'paused', 'compensating']

const views = [
  { label: text.runs.views.all, query: '', statuses: undefined },
  { label: text.runs.views.progress, query: `status:${LIVE.join(',')}`, statuses: LIVE },
  { label: text.runs.views.waiting, query: 'status:waiting', statuses: ['waiting'] },
  { label: text.runs.views.paused, query: 'status:paused', statuses: ['paused'] },
  { label: text.runs.views.failed, query: 'status:failed', statuses: ['failed'] },
] as const

const EVERY_MS = 30_000

export function Views({ query, children }: { readonly query: string; readonly children: ReactNode }): ReactNode {
  const groups = useQuery({
    queryKey: ['counts'],
    queryFn: () => client().groups({}, { by: 'status' }),
    refetchInterval: EVERY_MS,
  })
  const sum = (statuses: readonly string[] | undefined): string | undefined => {
    const counted = groups.data?.filter(({ key }) => statuses === undefined || statuses.includes(key))
    return counted && count(counted.reduce((total, each) => total + each.count, 0))
  }
  return (
    <nav className="tabs views" aria-label="Views">
      {views.map(({ label, query: of, statuses }) => (
        <Link key={label} href={runsPath(of)} aria-current={query === of ? 'page' : undefined}>
          {label}
          <span className="n">{sum(statuses)}</span>
        </Link>
      ))}
      {children}
    </nav>
  )
}

/** The largest groups of runs that are paused or that failed: at most four. */
export function NeedsAPerson(): ReactNode {
  const groups = useQuery({
    queryKey: ['needs'],
    queryFn: async () => {
      const [paused, failed] = await Promise.all([
        client().groups({ status: 'paused' }, { by: 'reason', limit: 4 }),
        client().groups(
          { status: 'failed', startedAfter: new Date(Date.now() - 86_400_000) },
          { by: 'reason', limit: 4 },
        ),
      ])
      return [...paused, ...failed].toSorted((one, other) => other.count - one.count).slice(0, 4)
    },
    refetchInterval: EVERY_MS,
  })
  if (!groups.data || groups.data.length === 0) return null
  return (
    <section className="needs" aria-label={text.runs.needs}>
      {groups.data.map(({ key, count: many, oldest }) => {
        const [status = '', ...rest] = key.split(':')
        const reason = rest.join(':')
        const query = status === 'failed' ? `failure:${quoted(reason)} started:<24h` : 'status:paused'
        return (
          <Link key={key} href={runsPath(query)}>
            <span className={status}>
              <Icon name={`st-${status}`} />
            </span>
            <span className="grow">
              <span className="what cut">{`${plural(many, 'run')} ${status === 'failed' ? 'failed' : 'paused'}`}</span>
              <span className="so cut">
                {reason !== '' && reason !== 'Paused' && <code>{visible(reason)}</code>} oldest{' '}
                <Ticking from={oldest} />
              </span>
            </span>
          </Link>
        )
      })}
    </section>
  )
}

function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value
}
