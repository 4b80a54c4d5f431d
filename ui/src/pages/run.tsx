// One run: why it makes no progress, what happened, what can be done.
import type { RunRecord } from 'pawl/client'
import { type ReactNode, useEffect, useState } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { Top } from '../components/shell.tsx'
import { Problem, Skeleton } from '../components/states.tsx'
import { runPath, runsPath, useField, useSegment } from '../data/address.ts'
import { shortId, visible } from '../data/format.ts'
import { useKeys } from '../data/keys.ts'
import { useForbidden } from '../data/me.ts'
import { text } from '../text.ts'
import { Children } from './run/children.tsx'
import { BudgetLine, RunHeader } from './run/header.tsx'
import { History, LatestEvents } from './run/history.tsx'
import { OperationDialog, type Verb, verbsOf } from './run/operation-dialog.tsx'
import { StepPanel } from './run/step-panel.tsx'
import { Steps } from './run/steps.tsx'
import { TimelineView } from './run/timeline.tsx'
import { type OpenRun, useRun } from './run/use-run.ts'
import { Values } from './run/values.tsx'
import { WhyBar } from './run/why-bar.tsx'

type Tab = keyof typeof text.run.tabs
const tabs = Object.keys(text.run.tabs) as readonly Tab[]

/** Leads to the newest run of a workflow id. */
export function WorkflowIdPage(): ReactNode {
  const id = useSegment(1)
  const tab = useSegment(2)
  return <Redirect to={runPath(`w:${id}`, tab === '' ? undefined : tab) + location.search} replace />
}

export function RunPage(): ReactNode {
  const id = useSegment(1)
  const tab = useSegment(2)
  const open = useRun(id)
  const { run } = open
  const name = run?.workflowId ?? id
  useEffect(() => {
    document.title = `${visible(name)} · pawl`
  }, [name])
  return (
    <>
      <Top>
        <Link href="/runs">{text.runs.title}</Link>
        <span className="sep">/</span>
        {run && (
          <>
            <Link className="only-wide" href={runsPath(`workflow:${run.name}`)}>
              {visible(run.name)}
            </Link>
            <span className="sep only-wide">/</span>
          </>
        )}
        <b className="mono cut">{visible(shortId(name, 40))}</b>
      </Top>
      {open.error !== null && !run && <Problem error={open.error} onAgain={open.again} />}
      {open.error === null && !run && <Skeleton />}
      {run && <OpenedRun id={id} run={run} open={open} tab={tabs.find((each) => each === tab) ?? 'timeline'} />}
    </>
  )
}

interface OpenedProps {
  readonly id: string
  readonly run: RunRecord
  readonly open: OpenRun
  readonly tab: Tab
}

function OpenedRun({ id, run, open, tab }: OpenedProps): ReactNode {
  const [verb, setVerb] = useState<Verb>()
  const [step, setStep] = useField('step')
  const [, go] = useLocation()
  const verbs = verbsOf(run)
  const forbidden = useForbidden()
  const to = (next: Tab): void => go(runPath(id, next) + location.search)
  const act = (each: Verb): void => (verbs.includes(each) && forbidden === undefined ? setVerb(each) : undefined)
  useKeys({
    ...Object.fromEntries(tabs.map((each, index) => [String(index + 1), () => to(each)])),
    s: () => act('signal'),
    p: () => act(run.status === 'paused' ? 'resume' : 'pause'),
    f: () => act('fork'),
    '[': () => setStep(neighbour(open, step, -1)),
    ']': () => setStep(neighbour(open, step, 1)),
    Escape: () => (step === '' ? go('/runs') : setStep('')),
  })
  const isOver = run.endedAt !== undefined
  return (
    <>
      <RunHeader run={run} verbs={verbs} onAct={setVerb} />
      {open.why && <WhyBar run={run} why={open.why} onAct={setVerb} />}
      {open.timeline && <BudgetLine timeline={open.timeline} isOver={isOver} />}
      <Tabs id={id} tab={tab} />
      <TabPanel {...{ run, open, tab, step, setStep, to }} onAct={setVerb} />
      {verb && <OperationDialog verb={verb} run={run} step={step} onClose={() => setVerb(undefined)} />}
    </>
  )
}

/** The step after or before the one that is selected. */
function neighbour({ timeline }: OpenRun, step: string, by: number): string {
  const keys = timeline?.rows.flatMap(({ key }) => (key === undefined ? [] : [key])) ?? []
  const at = keys.indexOf(step)
  return keys[Math.max(0, Math.min(keys.length - 1, at + by))] ?? ''
}

function Tabs({ id, tab }: { readonly id: string; readonly tab: Tab }): ReactNode {
  return (
    <nav className="tabs run" aria-label={text.run.views}>
      {tabs.map((each) => (
        <Link key={each} href={runPath(id, each) + location.search} aria-current={each === tab ? 'page' : undefined}>
          {text.run.tabs[each]}
        </Link>
      ))}
    </nav>
  )
}

interface PanelProps extends Omit<OpenedProps, 'id'> {
  readonly step: string
  readonly setStep: (step: string) => void
  readonly to: (tab: Tab) => void
  readonly onAct: (verb: Verb) => void
}

function TabPanel({ run, open, tab, step, setStep, to, onAct }: PanelProps): ReactNode {
  const { timeline } = open
  switch (tab) {
    case 'history':
      return <History key={run.runId} run={run} />
    case 'values':
      return <Values run={run} />
    case 'children':
      return <Children run={run} />
    case 'steps':
    case 'timeline': {
      const isOver = run.endedAt !== undefined
      return (
        <div className="body">
          <div className="left">
            {tab === 'steps' && <Steps run={run} selected={step} onSelect={setStep} />}
            {tab === 'timeline' && timeline && (
              <TimelineView timeline={timeline} isOver={isOver} selected={step} onSelect={setStep} />
            )}
            {tab === 'timeline' && <LatestEvents run={run} onAll={() => to('history')} />}
          </div>
          {step !== '' && timeline && (
            <StepPanel run={run} timeline={timeline} step={step} onAct={onAct} onClose={() => setStep('')} />
          )}
        </div>
      )
    }
  }
}
