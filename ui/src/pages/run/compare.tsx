// Two runs, or two generations of one, step by step.
import { useQuery } from '@tanstack/react-query'
import type { RunRecord, StepRecord } from 'pawl/client'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { Link } from 'wouter'
import { DiffView } from '../../components/diff-view.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { Problem, Skeleton } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { Time } from '../../components/time.tsx'
import { useWindow } from '../../components/window-rows.ts'
import { runPath, useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { count, duration, jsonOf, shortId, visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { useGeneration } from './history.tsx'
import { type Pair, pairsOf } from './pairs.ts'
import { type Place, useStepResult } from './step-events.ts'
import { statusOfStep } from './step-status.ts'
import { handleOf } from './use-run.ts'

const words = runText.compare

/** One side of a comparison: a run, or one of its generations. */
interface Side {
  readonly run: RunRecord
  readonly generation: number
  readonly steps: readonly StepRecord[]
}

export function Compare({ run }: { readonly run: RunRecord }): ReactNode {
  const [other, setOther] = useField('vs')
  const generation = useGeneration(run)
  const here = useSide(run.runId, generation)
  const [of, chosen] = splitRef(other)
  const there = useSide(other === '' ? undefined : of, chosen)
  if (other === '') return <Choose run={run} generation={generation} onChoose={setOther} />
  const error = here.error ?? there.error
  if (error) {
    return (
      <>
        <Problem error={error} onAgain={() => void there.refetch()} />
        <Choose run={run} generation={generation} onChoose={setOther} />
      </>
    )
  }
  if (!here.data || !there.data) return <Skeleton rows={8} />
  return <Comparison here={here.data} there={there.data} onStop={() => setOther('')} />
}

/** `<run>@2` is the second generation of a run. */
function splitRef(ref: string): readonly [run: string, generation: number | undefined] {
  const [, run, generation] = /^(.*)@(\d+)$/.exec(ref) ?? []
  return run === undefined ? [ref, undefined] : [run, Number(generation)]
}

function useSide(ref: string | undefined, generation: number | undefined) {
  return useQuery({
    queryKey: ['run', ref, 'side', generation],
    queryFn: async (): Promise<Side> => {
      const run = await handleOf(ref ?? '').describe()
      const of = generation ?? run.generation
      return { run, generation: of, steps: await handleOf(run.runId).steps({ generation: of }) }
    },
    enabled: ref !== undefined,
    placeholderData: (before) => before,
  })
}

interface ChooseProps {
  readonly run: RunRecord
  readonly generation: number
  readonly onChoose: (ref: string) => void
}

function Choose({ run, generation, onChoose }: ChooseProps): ReactNode {
  const [typed, setTyped] = useState('')
  const others = useQuery({
    queryKey: ['others', run.name],
    queryFn: () => client().list({ workflow: run.name }, { limit: 11 }),
  })
  const items = others.data?.items.filter(({ runId }) => runId !== run.runId).slice(0, 10) ?? []
  const generations = Array.from({ length: Math.min(run.generation, 16) }, (_, index) => run.generation - index)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (typed.trim() !== '') onChoose(typed.trim())
  }
  return (
    <div className="choose" tabIndex={0} role="region" aria-label={words.title}>
      <h2>{words.title}</h2>
      <p className="two">{words.about}</p>
      <form className="row" onSubmit={submit}>
        <label className="field grow">
          <span>{words.label}</span>
          <input className="text mono" value={typed} onChange={({ target }) => setTyped(target.value)} />
        </label>
        <button type="submit" className="btn primary">
          {words.act}
        </button>
      </form>
      {generations.length > 1 && (
        <section>
          <h3>{words.generations}</h3>
          <p className="row wrap">
            {generations
              .filter((each) => each !== generation)
              .map((each) => (
                <button key={each} type="button" className="btn" onClick={() => onChoose(`${run.runId}@${each}`)}>
                  {words.generation(each)}
                </button>
              ))}
          </p>
        </section>
      )}
      {items.length > 0 && (
        <section>
          <h3>{words.others}</h3>
          <ul>
            {items.map(({ runId, workflowId, status, createdAt }) => (
              <li key={runId}>
                <button type="button" className="linklike row" onClick={() => onChoose(runId)}>
                  <StatusMark status={status} />
                  <span className="mono">{visible(workflowId === runId ? shortId(runId) : workflowId)}</span>
                  <span className="muted">
                    <Time at={createdAt} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

interface ComparisonProps {
  readonly here: Side
  readonly there: Side
  readonly onStop: () => void
}

function Comparison({ here, there, onStop }: ComparisonProps): ReactNode {
  const [isShort, setShort] = useState(false)
  const [step, setStep] = useField('step')
  const pairs = pairsOf(here.steps, there.steps)
  const differing = pairs.filter(({ differs }) => differs)
  const all = count(pairs.length)
  const chosen = pairs.find(({ key }) => key === step)
  return (
    <div className="compare" tabIndex={0} role="region" aria-label={text.run.tabs.compare}>
      <div className="tbar">
        <b>{differing.length === 0 ? words.alike(all) : words.differ(count(differing.length), all)}</b>
        <button type="button" className="btn" aria-pressed={isShort} onClick={() => setShort(!isShort)}>
          {words.onlyDifferent}
        </button>
        <span className="grow" />
        <button type="button" className="btn" onClick={onStop}>
          {words.stop}
        </button>
      </div>
      <Heads here={here} there={there} />
      <Pairs pairs={isShort ? differing : pairs} first={differing[0]} selected={step} onSelect={setStep} />
      {chosen && <Results key={chosen.key} pair={chosen} here={here} there={there} />}
      <Values label={words.input} before={there.run.input} after={here.run.input} />
      <Values label={words.output} before={endOf(there.run)} after={endOf(here.run)} />
      <Values label={text.run.attributes} before={there.run.attributes} after={here.run.attributes} />
    </div>
  )
}

function endOf({ status, output, failure }: RunRecord): unknown {
  return status === 'completed' ? output : failure && { type: failure.type, message: failure.message }
}

function Heads({ here, there }: Pick<ComparisonProps, 'here' | 'there'>): ReactNode {
  const side = (label: string, { run, generation }: Side): ReactNode => {
    const took = run.endedAt && duration(run.endedAt.getTime() - run.createdAt.getTime())
    return (
      <div>
        <span className="k">{label}</span>
        <StatusMark status={run.status} />
        <Link className="mono medium cut" href={`${runPath(run.runId)}?gen=${generation}`}>
          {visible(run.workflowId === run.runId ? shortId(run.runId) : run.workflowId)}
        </Link>
        {run.generation > 1 && <span className="muted">{words.generation(generation)}</span>}
        <span className="muted">{took}</span>
      </div>
    )
  }
  return (
    <div className="sides">
      {side(words.here, here)}
      {side(words.there, there)}
    </div>
  )
}

const ROW = 32

interface PairsProps {
  readonly pairs: readonly Pair[]
  readonly first: Pair | undefined
  readonly selected: string
  readonly onSelect: (key: string) => void
}

function Pairs({ pairs, first: firstDifference, selected, onSelect }: PairsProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const { first, end } = useWindow(box, pairs.length, ROW)
  return (
    <div className="pairs list" ref={box} tabIndex={0} role="region" aria-label={words.steps}>
      <table className="plain fixed" aria-rowcount={pairs.length}>
        <thead>
          <tr>
            <th>{words.step}</th>
            <th>{words.here}</th>
            <th>{words.there}</th>
            <th className="num">{words.took}</th>
          </tr>
        </thead>
        <tbody>
          <tr className="gap" aria-hidden="true" style={{ height: first * ROW }} />
          {pairs.slice(first, end).map((pair) => (
            <tr key={pair.key} aria-selected={pair.key === selected} className={pair.differs ? 'differs' : ''}>
              <td className="cut">
                <button type="button" className="linklike mono" onClick={() => onSelect(pair.key)}>
                  {visible(pair.name)}
                </button>
                {pair === firstDifference && <span className="tag">{words.first}</span>}
              </td>
              <td>
                <StepSide step={pair.here} otherwise={words.onlyThere} />
              </td>
              <td>
                <StepSide step={pair.there} otherwise={words.onlyHere} />
              </td>
              <td className="num mono">{pair.longerMs === undefined ? '' : signed(pair.longerMs)}</td>
            </tr>
          ))}
          <tr className="gap" aria-hidden="true" style={{ height: (pairs.length - end) * ROW }} />
        </tbody>
      </table>
    </div>
  )
}

function signed(ms: number): string {
  return ms > 0 ? `+${duration(ms)}` : duration(ms)
}

function StepSide({
  step,
  otherwise,
}: {
  readonly step: StepRecord | undefined
  readonly otherwise: string
}): ReactNode {
  if (!step) return <span className="muted">{otherwise}</span>
  const { state, kind, attempts, startedAt, endedAt } = step
  return (
    <span className="row">
      <StatusMark status={statusOfStep(state, kind)} word={false} />
      {state}
      {attempts > 1 && <span className="muted">{`${attempts} attempts`}</span>}
      {startedAt && endedAt && <span className="mono muted">{duration(endedAt.getTime() - startedAt.getTime())}</span>}
    </span>
  )
}

function Values({ label, before, after }: { label: string; before: unknown; after: unknown }): ReactNode {
  const isSame = jsonOf(before) === jsonOf(after)
  return (
    <section>
      <h3>
        {label}
        {isSame && <span className="muted">{` · ${words.same}`}</span>}
      </h3>
      {!isSame && <DiffView before={before} after={after} label={label} />}
    </section>
  )
}

function placeOf({ run, generation }: Side): Place {
  return { run: run.runId, generation }
}

/** What the step returned on both sides. */
function Results({ pair, here, there }: Pick<ComparisonProps, 'here' | 'there'> & { readonly pair: Pair }): ReactNode {
  const one = useStepResult(placeOf(here), pair.here?.key, pair.here?.state)
  const other = useStepResult(placeOf(there), pair.there?.key, pair.there?.state)
  const label = `${words.results} ${visible(pair.name)}`
  if (!one.data || !other.data) return null
  if (pair.here && pair.there) return <Values label={label} before={other.data.value} after={one.data.value} />
  const only = pair.here ? one.data.value : other.data.value
  return (
    <section>
      <JsonView value={only} label={label} />
    </section>
  )
}
