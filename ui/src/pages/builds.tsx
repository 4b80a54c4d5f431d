// Builds: which share of new runs each gets, and what `pawl check` found before a roll-out.
import type { OperationOutput } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Act, Field, ReadOnly } from '../components/act.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Answer, PageFrame, Section } from '../components/page.tsx'
import { Teach } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { runPath, runsPath } from '../data/address.ts'
import { client } from '../data/client.ts'
import { count, plural, shellWord, visible } from '../data/format.ts'
import { usePolled } from '../data/polled.ts'
import { pageText } from '../texts/pages.ts'

type Build = OperationOutput<'builds.list'>['items'][number]
type Check = OperationOutput<'builds.checks'>['items'][number]
type Group = Check['groups'][number]

interface Found {
  readonly builds: readonly Build[]
  readonly checks: readonly Check[]
}

const words = pageText.builds

async function look(): Promise<Found> {
  const [builds, checks] = await Promise.all([client().builds.list(), client().builds.checks()])
  return { builds, checks }
}

export function BuildsPage(): ReactNode {
  const query = usePolled(['builds'], look, { everyMs: 10_000 })
  return (
    <PageFrame title={pageText.nav.builds}>
      <Loaded query={query} rows={8}>
        {({ builds, checks }) => (
          <>
            <Verdict checks={checks} />
            {builds.length === 0 ? (
              <Teach {...words.empty} />
            ) : (
              <>
                <Shares builds={builds} />
                <Table builds={builds} checks={checks} />
              </>
            )}
            {checks.map((check) => (
              <Report key={check.build} check={check} />
            ))}
          </>
        )}
      </Loaded>
    </PageFrame>
  )
}

function Verdict({ checks }: Pick<Found, 'checks'>): ReactNode {
  const worst = checks.toSorted((one, other) => other.counts.differs - one.counts.differs)[0]
  const title =
    worst === undefined
      ? words.unchecked
      : worst.counts.differs === 0
        ? words.fits
        : words.differs(visible(worst.build), count(worst.counts.differs), plural(worst.counts.all, 'run'))
  return (
    <>
      <Answer title={title} about={words.about} />
      <div className="pad snippet-row">
        <div className="snippet">
          <code>{words.command}</code>
          <CopyButton value={words.command} />
        </div>
        <ReadOnly needs="admin" />
      </div>
    </>
  )
}

/** Who starts new runs, as one bar. */
function Shares({ builds }: Pick<Found, 'builds'>): ReactNode {
  const shared = builds.filter(({ percent = 0, retired }) => percent > 0 && !retired)
  const left = 100 - shared.reduce((sum, { percent = 0 }) => sum + percent, 0)
  if (shared.length === 0) return null
  const told = shared.map(({ build, percent = 0 }) => `${visible(build)} ${percent} %`)
  return (
    <div
      className="shares"
      role="img"
      aria-label={`${words.columns.share}: ${told.join(', ')}, ${words.rest} ${left} %`}
    >
      {shared.map(({ build, percent = 0 }) => (
        <span key={build} className="share" style={{ flexGrow: percent }} title={visible(build)}>
          {`${percent} % ${visible(build)}`}
        </span>
      ))}
      {left > 0 && <span className="share rest" style={{ flexGrow: left }}>{`${words.rest}, ${left} %`}</span>}
    </div>
  )
}

function Table({ builds, checks }: Found): ReactNode {
  const heads = words.columns
  const columns: readonly Column<Build>[] = [
    { head: heads.build, cell: ({ build }) => <code className="medium">{visible(build)}</code>, narrow: 'main' },
    {
      head: heads.share,
      cell: ({ percent, retired }) =>
        retired ? words.none : percent === undefined ? words.rest : words.share(String(percent)),
      ...{ width: 150, narrow: 'below' },
    },
    {
      head: heads.runs,
      cell: ({ build, runs }) => <Link href={runsPath(`build:${build}`)}>{count(runs)}</Link>,
      ...{ width: 120, isNumber: true, narrow: 'side' },
    },
    {
      head: heads.workers,
      cell: ({ workers, runs }) => <span className={workers === 0 && runs > 0 ? 'paused' : ''}>{count(workers)}</span>,
      ...{ width: 100, isNumber: true },
    },
    { head: heads.check, cell: ({ build }) => <Newest check={checks.find((each) => each.build === build)} /> },
    { head: 'Operations', cell: (build) => <Operations build={build} />, width: 190, narrow: 'below' },
  ]
  return (
    <Section title={words.list}>
      <DataTable label={words.list} columns={columns} rows={builds} keyOf={({ build }) => build} />
    </Section>
  )
}

function Newest({ check }: { readonly check: Check | undefined }): ReactNode {
  if (!check) return <span className="muted">{words.unchecked}</span>
  const { moves, differs } = check.counts
  return (
    <span className={differs > 0 ? 'paused' : ''}>
      {count(moves)} {words.moves}, {count(differs)} {words.notMoves}
    </span>
  )
}

function Operations({ build: { build, percent, retired } }: { readonly build: Build }): ReactNode {
  const [share, setShare] = useState(String(percent ?? 10))
  const [typed, setTyped] = useState('')
  const isShare = share !== '' && Number(share) >= 0 && Number(share) <= 100
  return (
    <span className="row">
      <Act
        needs="admin"
        verb={words.rollOut}
        label={`${words.rollOut} ${visible(build)}`}
        title={words.rollOutTitle(visible(build))}
        about={words.rollOutAbout}
        command={['pawl', 'builds', 'roll-out', build, share].map(shellWord).join(' ')}
        isReady={isShare}
        fields={<Field label={words.percent} type="number" value={share} onChange={setShare} isRequired />}
        act={async () => {
          await client().builds.rollOut(build, Number(share))
          return words.rolledOut(build, share)
        }}
      />
      {!retired && (
        <Act
          needs="admin"
          isDangerous
          verb={words.retire}
          label={`${words.retire} ${visible(build)}`}
          title={words.retireTitle(visible(build))}
          about={words.retireAbout}
          command={['pawl', 'builds', 'retire', build].map(shellWord).join(' ')}
          isReady={typed === build}
          fields={<Field label={words.type(visible(build))} value={typed} onChange={setTyped} isRequired />}
          act={async () => {
            await client().builds.retire(build)
            return words.retired(build)
          }}
        />
      )}
    </span>
  )
}

const parts = [
  ['moves', words.moves],
  ['differs', words.notMoves],
  ['noCode', words.noCode],
  ['pinned', words.pinned],
] as const

function Report({ check }: { readonly check: Check }): ReactNode {
  const { build, at, counts, groups } = check
  const about = (
    <>
      {words.checked} <Time at={at} />, {plural(counts.all, 'run')}
    </>
  )
  return (
    <Section title={words.check(visible(build))} about={about}>
      <div className="pad">
        <div className="verdicts" aria-hidden="true">
          {parts.map(([part]) => (
            <i key={part} className={part} style={{ flexGrow: counts[part] }} />
          ))}
        </div>
        <p className="row wrapping">
          {parts.map(([part, word]) => (
            <span key={part} className={part === 'differs' && counts[part] > 0 ? 'paused' : 'two'}>
              <b>{count(counts[part])}</b> {word}
            </span>
          ))}
        </p>
      </div>
      <ul className="findings">
        {groups
          .filter(({ finding }) => finding !== 'moves')
          .map((group, index) => (
            <Finding key={index} group={group} />
          ))}
      </ul>
    </Section>
  )
}

function Finding({
  group: { finding, workflow, text: told, count: many, runs },
}: {
  readonly group: Group
}): ReactNode {
  return (
    <li>
      <p>
        <code className="medium">{visible(workflow)}</code>{' '}
        <span className={`pill ${finding === 'differs' || finding === 'noCode' ? 'paused' : 'pending'}`}>
          {plural(many, 'run')}
        </span>{' '}
        {words.findings[finding]}
      </p>
      {told !== '' && <p className="two told">{visible(told)}</p>}
      <p className="muted">{words.remedies[finding]}</p>
      <p className="row wrapping">
        {runs.map(({ runId, workflowId }) => (
          <Link key={runId} className="mono link" href={runPath(runId)}>
            {visible(workflowId)}
          </Link>
        ))}
      </p>
    </li>
  )
}
