// One run: why it makes no progress, what happened, what can be done.
import type { RunRecord } from 'pawl/client'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { Top } from '../components/shell.tsx'
import { Problem, Skeleton, Teach } from '../components/states.tsx'
import { runPath, runsPath, useField, useSegment } from '../data/address.ts'
import { shortId, visible } from '../data/format.ts'
import { useKeys } from '../data/keys.ts'
import { useForbidden } from '../data/me.ts'
import { text } from '../text.ts'
import { runText } from '../texts/run.ts'
import { Children } from './run/children.tsx'
import { Compare } from './run/compare.tsx'
import { CopyDialog } from './run/copy-dialog.tsx'
import { ForkDialog } from './run/fork-dialog.tsx'
import { BudgetLine, RunHeader } from './run/header.tsx'
import { History, LatestEvents } from './run/history.tsx'
import { OperationDialog, type Verb, verbsOf } from './run/operation-dialog.tsx'
import { type Past, PastBar, Scrubber, usePast } from './run/scrubber.tsx'
import { statusThen } from './run/status-then.ts'
import { StepPanel } from './run/step-panel.tsx'
import { Steps } from './run/steps.tsx'
import { TimelineView } from './run/timeline.tsx'
import { type OpenRun, useRun, useView } from './run/use-run.ts'
import { useStyle } from './run/use-style.ts'
import { Values } from './run/values.tsx'
import { WhyBar } from './run/why-bar.tsx'

type Tab = keyof typeof text.run.tabs
const tabs = Object.keys(text.run.tabs) as readonly Tab[]

// Drawing takes more code than all the rest of the page.
const GraphView = lazy(() => import('./run/graph.tsx'))
const MachineView = lazy(() => import('./run/machine.tsx'))

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
  const [verb, setVerb] = useState<Verb | 'copy'>()
  const [step, setStep] = useField('step')
  const past = usePast(run)
  const isPast = past.at !== undefined
  // Operations are for the newest generation.
  const isOld = useIsOld(run)
  const verbs = isOld ? [] : verbsOf(run)
  const act = (each: Verb): void => (verbs.includes(each) ? setVerb(each) : undefined)
  useRunKeys({ id, run, open, past, step, setStep, onAct: act })
  const isOver = run.endedAt !== undefined || isPast || isOld
  const close = (): void => setVerb(undefined)
  return (
    <div className={isPast ? 'run-page is-past' : 'run-page'}>
      <RunHeader
        run={run}
        verbs={verbs}
        onAct={act}
        onCopy={() => setVerb('copy')}
        then={isPast && open.timeline ? statusThen(open.timeline, run, past) : undefined}
      />
      {isPast && <PastBar run={run} past={past} />}
      {!isPast && open.why && <WhyBar run={run} why={open.why} onAct={act} />}
      {open.timeline && <BudgetLine timeline={open.timeline} isOver={isOver} />}
      <div className="tabs-bar">
        <Tabs id={id} tab={tab} />
        <Scrubber past={past} />
      </div>
      <TabPanel {...{ id, run, open, tab, step, setStep, past }} onAct={act} />
      {verb === 'copy' && <CopyDialog run={run} onClose={close} />}
      {verb === 'fork' && open.steps && <ForkDialog run={run} steps={open.steps} step={step} onClose={close} />}
      {verb && verb !== 'copy' && verb !== 'fork' && (
        <OperationDialog key={verb} verb={verb} run={run} step={step} onClose={close} />
      )}
    </div>
  )
}

/** Whether an earlier generation is shown. */
function useIsOld({ generation }: RunRecord): boolean {
  return (useView().generation ?? generation) < generation
}

interface KeysProps extends Omit<OpenedProps, 'tab'> {
  readonly past: Past
  readonly step: string
  readonly setStep: (step: string) => void
  readonly onAct: (verb: Verb) => void
}

function useRunKeys({ id, run, open, past, step, setStep, onAct }: KeysProps): void {
  const [, go] = useLocation()
  const forbidden = useForbidden()
  const verbs = verbsOf(run)
  const { at, last } = past
  const act = (verb: Verb): void => {
    const isOff = forbidden !== undefined || (at !== undefined && verb !== 'fork')
    if (verbs.includes(verb) && !isOff) onAct(verb)
  }
  useKeys({
    ...Object.fromEntries(
      tabs.map((each, index) => [String(index + 1), () => go(runPath(id, each) + location.search)]),
    ),
    s: () => act('signal'),
    p: () => act(run.status === 'paused' ? 'resume' : 'pause'),
    f: () => act('fork'),
    '[': () => setStep(neighbour(open, step, -1)),
    ']': () => setStep(neighbour(open, step, 1)),
    ArrowLeft: () => past.go((at ?? last) - 1),
    ArrowRight: () => past.go(at === undefined ? undefined : at + 1),
    Escape: () => {
      if (step !== '') setStep('')
      else if (at !== undefined) past.go(undefined)
      else go('/runs')
    },
  })
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

interface PanelProps extends OpenedProps {
  readonly past: Past
  readonly step: string
  readonly setStep: (step: string) => void
  readonly onAct: (verb: Verb) => void
}

function TabPanel(props: PanelProps): ReactNode {
  const { run, open, tab, step, setStep, past, onAct } = props
  const { timeline } = open
  switch (tab) {
    case 'history':
      return <History key={run.runId} run={run} at={past.at} />
    case 'values':
      return <Values run={run} />
    case 'children':
      return <Children key={run.runId} run={run} />
    case 'compare':
      return <Compare run={run} />
    case 'graph':
    case 'steps':
    case 'timeline':
      return (
        <div className="body">
          <div className="left">
            <StepsTab {...props} />
          </div>
          {step !== '' && timeline && (
            <StepPanel run={run} timeline={timeline} step={step} onAct={onAct} onClose={() => setStep('')} />
          )}
        </div>
      )
  }
}

function StepsTab({ id, run, open, tab, step, setStep, past }: PanelProps): ReactNode {
  const [, go] = useLocation()
  const { timeline, steps } = open
  const isOld = useIsOld(run)
  const isOver = run.endedAt !== undefined || past.at !== undefined || isOld
  if (tab === 'graph') return <Graph run={run} open={open} step={step} setStep={setStep} />
  if (tab === 'steps') {
    const until = past.at === undefined ? run.endedAt : timeline?.to
    return <Steps run={run} steps={steps} until={until} selected={step} onSelect={setStep} />
  }
  const onAll = (): void => go(runPath(id, 'history') + location.search)
  return (
    <>
      {timeline ? (
        <TimelineView timeline={timeline} steps={steps} isOver={isOver} selected={step} onSelect={setStep} />
      ) : (
        <Skeleton rows={6} />
      )}
      {past.at === undefined && <LatestEvents run={run} onAll={onAll} />}
    </>
  )
}

type GraphProps = Pick<PanelProps, 'run' | 'open' | 'step' | 'setStep'>

function Graph({ run, open: { steps }, step, setStep }: GraphProps): ReactNode {
  const view = useView()
  const style = useStyle(run, steps)
  const { graph } = runText
  if (!steps || style === undefined) return <Skeleton rows={6} />
  if (style === 'function') return <Teach title={graph.none} about={graph.noneAbout} />
  return (
    <Suspense fallback={<Skeleton rows={6} />}>
      {style === 'machine' ? (
        <MachineView run={run} view={view} />
      ) : (
        <GraphView run={run} steps={steps} view={view} selected={step} onSelect={setStep} />
      )}
    </Suspense>
  )
}
