// Another run with the past of this one: from which step it goes on, with which input, with which results of kept steps.
import type { RunRecord, StepRecord } from 'pawl/client'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { CommandList } from '../../components/command-list.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { DiffView } from '../../components/diff-view.tsx'
import { Problem } from '../../components/states.tsx'
import { StatusMark } from '../../components/status-mark.tsx'
import { toast } from '../../components/toasts.tsx'
import { runPath } from '../../data/address.ts'
import { duration, jsonOf, shellWord, visible } from '../../data/format.ts'
import { text } from '../../text.ts'
import { runText } from '../../texts/run.ts'
import { useStepResult } from './step-events.ts'
import { statusOfStep } from './step-status.ts'
import { handleOf } from './use-run.ts'

const words = runText.fork
/** How many steps the dialog lists on each side of the one to go on from. */
const LISTED = 200

interface ForkProps {
  readonly run: RunRecord
  readonly steps: readonly StepRecord[]
  /** The key of the step that is selected. */
  readonly step: string
  readonly onClose: () => void
}

/** What was typed for the input and for results, as JSON. */
interface Edits {
  readonly input: string | undefined
  readonly results: Readonly<Record<string, string>>
}

type Begun = StepRecord & { readonly key: string; readonly startedAt: Date }

export function ForkDialog({ run, steps, step: given, onClose }: ForkProps): ReactNode {
  const begun = steps
    .filter((each): each is Begun => each.key !== undefined && each.startedAt !== undefined && each.kind !== 'undo')
    .toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime())
  const usual = begun.find(({ state }) => state === 'failed') ?? begun.at(-1)
  const [from, setFrom] = useState(begun.find(({ key }) => key === given)?.key ?? usual?.key ?? '')
  const [edits, setEdits] = useState<Edits>({ input: undefined, results: {} })
  const [error, setError] = useState<unknown>()
  const [isAsked, setAsked] = useState(false)
  const [, go] = useLocation()
  const at = begun.findIndex(({ key }) => key === from)
  const kept = begun.slice(0, Math.max(0, at)).filter(({ state }) => state === 'completed')
  const again = steps.filter((each) => !kept.includes(each as Begun) && each.kind !== 'undo')
  const results = ofSteps(edits.results, kept)
  const isReady = from !== '' && [edits.input, ...Object.values(results)].every(isJson)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    setAsked(true)
    try {
      const forked = await handleOf(run.runId).fork(optionsOf(from, { ...edits, results }))
      toast(text.operate.forked, { href: runPath(forked.runId) })
      onClose()
      go(`${runPath(forked.runId)}?vs=${run.runId}`)
    } catch (problem) {
      setError(problem)
      setAsked(false)
    }
  }
  return (
    <Dialog title={words.title(visible(run.workflowId))} onClose={onClose} kind="wide">
      <form className="fork" onSubmit={(event) => void submit(event)}>
        <p className="two">{words.about}</p>
        {begun.length === 0 ? (
          <p>{words.none}</p>
        ) : (
          <div className="cols">
            <Sides {...{ kept, again, from }} onFrom={setFrom} />
            <div className="edits">
              <Editor
                label={words.input}
                was={run.input}
                value={edits.input}
                onChange={(input) => setEdits({ ...edits, input })}
              />
              <Results
                run={run}
                kept={kept}
                edited={results}
                onChange={(key, value) => setEdits({ ...edits, results: changed(edits.results, key, value) })}
              />
              <Consequences kept={kept} again={again} edits={{ ...edits, results }} />
            </div>
          </div>
        )}
        {error !== undefined && <Problem error={error} />}
        {isReady && <Commands run={run} from={from} edits={{ ...edits, results }} />}
        <footer>
          <button type="button" className="btn" onClick={onClose}>
            {text.cancel}
          </button>
          <button type="submit" className="btn primary" disabled={!isReady || isAsked}>
            {words.act}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

/** The results of these steps. */
function ofSteps(results: Edits['results'], steps: readonly Begun[]): Edits['results'] {
  return Object.fromEntries(Object.entries(results).filter(([key]) => steps.some((each) => each.key === key)))
}

function changed(
  before: Readonly<Record<string, string>>,
  key: string,
  value: string | undefined,
): Readonly<Record<string, string>> {
  const { [key]: _, ...rest } = before
  return value === undefined ? rest : { ...rest, [key]: value }
}

function isJson(given: string | undefined): boolean {
  if (given === undefined) return true
  try {
    JSON.parse(given)
    return true
  } catch {
    return false
  }
}

function optionsOf(
  step: string,
  { input, results }: Edits,
): { step: string; input?: unknown; results?: Record<string, unknown> } {
  const given = Object.entries(results).map(([key, value]) => [key, JSON.parse(value) as unknown] as const)
  return {
    step,
    ...(input !== undefined && { input: JSON.parse(input) as unknown }),
    ...(given.length > 0 && { results: Object.fromEntries(given) }),
  }
}

interface SidesProps {
  readonly kept: readonly StepRecord[]
  readonly again: readonly StepRecord[]
  readonly from: string
  readonly onFrom: (key: string) => void
}

/** The steps on both sides of the one to go on from; a click moves the line. */
function Sides({ kept, again, from, onFrom }: SidesProps): ReactNode {
  const item = (step: StepRecord, isKept: boolean): ReactNode => (
    <li key={step.key ?? step.step}>
      <button
        type="button"
        aria-pressed={step.key === from}
        disabled={step.key === undefined}
        onClick={() => step.key !== undefined && onFrom(step.key)}
      >
        <StatusMark status={isKept ? statusOfStep(step.state, step.kind) : 'none'} word={false} />
        <span className="mono cut">{visible(step.step)}</span>
        <span className="muted">
          {isKept && step.startedAt && step.endedAt ? duration(step.endedAt.getTime() - step.startedAt.getTime()) : ''}
        </span>
      </button>
    </li>
  )
  return (
    <div className="sides" tabIndex={0} role="group" aria-label={words.choose}>
      <h3>{words.kept}</h3>
      {kept.length === 0 ? (
        <p className="muted">{words.noKept}</p>
      ) : (
        <ol>{kept.slice(-LISTED).map((step) => item(step, true))}</ol>
      )}
      <p className="line">
        <span>{words.from}</span>
      </p>
      <h3>{words.again}</h3>
      <ol>{again.slice(0, LISTED).map((step) => item(step, false))}</ol>
    </div>
  )
}

interface EditorProps {
  readonly label: string
  readonly was: unknown
  /** Undefined while it is as it was. */
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** A value as JSON to edit, and what the edit changes. */
function Editor({ label, was: before, value, onChange }: EditorProps): ReactNode {
  const was = before === undefined ? '' : jsonOf(before)
  const isOk = isJson(value)
  const isEdited = value !== undefined && value !== was
  return (
    <div className="editor">
      <label className="field">
        <span>
          {label}
          {isEdited && `, ${words.edited}`}
          {!isOk && <b className="failed">{` · ${words.bad}`}</b>}
        </span>
        <textarea
          className={isOk ? 'text mono' : 'text mono bad'}
          rows={Math.min(10, Math.max(2, (value ?? was).split('\n').length))}
          spellCheck={false}
          aria-invalid={!isOk}
          value={value ?? was}
          onChange={({ target }) => onChange(target.value === was ? undefined : target.value)}
        />
      </label>
      {isEdited && isOk && (
        <>
          <DiffView before={before} after={JSON.parse(value) as unknown} label={label} />
          <button type="button" className="btn quiet" onClick={() => onChange(undefined)}>
            {words.reset}
          </button>
        </>
      )}
    </div>
  )
}

interface ResultsProps {
  readonly run: RunRecord
  readonly kept: readonly Begun[]
  readonly edited: Readonly<Record<string, string>>
  readonly onChange: (key: string, value: string | undefined) => void
}

function Results({ run, kept, edited, onChange }: ResultsProps): ReactNode {
  const [picked, pick] = useState('')
  const step = kept.find(({ key }) => key === picked)
  const { data } = useStepResult({ run: run.runId, generation: run.generation }, step?.key, step?.state)
  if (kept.length === 0) return null
  return (
    <>
      <label className="field">
        <span>{words.results}</span>
        <select className="text" value={step ? picked : ''} onChange={({ target }) => pick(target.value)}>
          <option value="">{Object.keys(edited).length === 0 ? words.pick : Object.keys(edited).join(', ')}</option>
          {kept.slice(-LISTED).map(({ key, step: name }) => (
            <option key={key} value={key}>
              {visible(name)}
              {edited[key] === undefined ? '' : `, ${words.edited}`}
            </option>
          ))}
        </select>
      </label>
      {step && data && (
        <Editor
          key={picked}
          label={visible(step.step)}
          was={data.value}
          value={edited[picked]}
          onChange={(value) => onChange(picked, value)}
        />
      )}
    </>
  )
}

interface ConsequencesProps {
  readonly kept: readonly Begun[]
  readonly again: readonly StepRecord[]
  readonly edits: Edits
}

const WITH_EFFECTS = new Set(['activity', 'step', 'child', 'list', 'side effect'])

function Consequences({ kept, again, edits }: ConsequencesProps): ReactNode {
  const names = (some: readonly StepRecord[]): string => {
    const shown = some.slice(0, 6).map(({ step }) => visible(step))
    return shown.join(', ') + (some.length > 6 ? ` and ${some.length - 6} more` : '')
  }
  const once = again.filter(({ kind, startedAt }) => WITH_EFFECTS.has(kind) && startedAt !== undefined)
  const results = kept.filter(({ key }) => edits.results[key] !== undefined)
  const lines = [
    ...(once.length > 0 ? [words.effects(names(once))] : []),
    words.keys,
    ...(edits.input === undefined ? [] : [kept.length > 0 ? words.inputEdited(names(kept)) : words.inputFresh]),
    ...(results.length > 0 ? [words.resultEdited(names(results))] : []),
    ...(edits.input === undefined && results.length === 0 ? [words.same] : []),
    words.signals,
  ]
  return (
    <section className="consequences" aria-label={words.consequences}>
      <h3>{words.consequences}</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  )
}

function Commands({
  run,
  from,
  edits,
}: {
  readonly run: RunRecord
  readonly from: string
  readonly edits: Edits
}): ReactNode {
  const compact = (json: string): string => JSON.stringify(JSON.parse(json))
  const input = edits.input === undefined ? [] : ['--input', compact(edits.input)]
  const results = Object.entries(edits.results).flatMap(([key, json]) => ['--result', `${key}=${compact(json)}`])
  const command = ['pawl', 'fork', run.runId, from, ...input, ...results].map(shellWord).join(' ')
  const url = `${location.origin}/api/v1/runs/${run.runId}/fork`
  const body = shellWord(JSON.stringify(optionsOf(from, edits)))
  const curl = `curl -X POST ${shellWord(url)} -H ${shellWord('content-type: application/json')} -d ${body}`
  return (
    <CommandList
      lines={[
        [text.operate.cli, command],
        [text.operate.curl, curl],
      ]}
    />
  )
}
