// One operation on one run: what it does, what it needs, and the same as a command and as curl.
import { type RunRecord, signal } from 'pawl/client'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { CommandList } from '../../components/command-list.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Problem } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { runPath } from '../../data/address.ts'
import { shellWord } from '../../data/format.ts'
import { text } from '../../text.ts'
import { handleOf } from './use-run.ts'

export type Verb = keyof typeof text.verbs

const ENDED = new Set(['completed', 'failed', 'cancelled'])

/** What can be done with the run now, the likeliest first. */
export function verbsOf({ status }: RunRecord): readonly Verb[] {
  if (status === 'moved') return []
  if (status === 'failed') return ['retry', 'fork', 'reset']
  if (ENDED.has(status)) return ['fork', 'reset']
  if (status === 'paused')
    return ['resume', 'cancel', 'fork', 'signal', 'reset', 'complete', 'migrate', 'discard', 'terminate']
  if (status === 'pending') return ['trigger', 'cancel', 'terminate', 'pause']
  return ['pause', 'cancel', 'fork', 'signal', 'complete', 'migrate', 'terminate']
}

interface Fields {
  readonly reason: string
  readonly step: string
  readonly name: string
  readonly json: string
  readonly typed: string
}

type FieldName = keyof Fields

const fieldsOf: Readonly<Record<Verb, readonly FieldName[]>> = {
  cancel: ['reason'],
  terminate: ['reason', 'typed'],
  pause: ['reason'],
  resume: [],
  retry: [],
  reset: ['step'],
  fork: ['step', 'json'],
  signal: ['name', 'json'],
  trigger: ['json'],
  complete: ['step', 'json', 'reason'],
  migrate: ['name', 'json'],
  discard: ['name', 'reason'],
}

interface DialogProps {
  readonly verb: Verb
  readonly run: RunRecord
  /** The step that is selected. */
  readonly step: string
  readonly onClose: () => void
}

export function OperationDialog({ verb, run, step, onClose }: DialogProps): ReactNode {
  const [fields, setFields] = useState<Fields>({ reason: '', step, name: '', json: '', typed: '' })
  const [error, setError] = useState<unknown>()
  const [isAsked, setAsked] = useState(false)
  const [, go] = useLocation()
  const set = (name: FieldName, value: string): void => setFields({ ...fields, [name]: value })
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    setAsked(true)
    try {
      const forked = await operate(verb, run, fields)
      toast(forked === undefined ? text.operate.accepted(text.verbs[verb]) : text.operate.forked, {
        ...(forked !== undefined && { href: runPath(forked) }),
      })
      onClose()
      if (forked !== undefined) go(runPath(forked))
    } catch (problem) {
      setError(problem)
      setAsked(false)
    }
  }
  return (
    <Dialog title={`${text.verbs[verb]} ${run.workflowId}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p className="two">{text.operate[verb]}</p>
        {fieldsOf[verb].map((name) => (
          <FieldOf key={name} verb={verb} name={name} value={fields[name]} onChange={(value) => set(name, value)} />
        ))}
        {error !== undefined && <Problem error={error} />}
        <Commands verb={verb} run={run} fields={fields} />
        <footer>
          <button type="button" className="btn" onClick={onClose}>
            {text.cancel}
          </button>
          <button
            type="submit"
            className={verb === 'terminate' || verb === 'cancel' ? 'btn primary danger' : 'btn primary'}
            disabled={isAsked || !isReady(verb, fields)}
          >
            {text.verbs[verb]}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const jsonLabels: Partial<Readonly<Record<Verb, string>>> = {
  signal: text.run.payload,
  complete: text.operate.result,
  migrate: text.operate.names,
}

interface FieldProps {
  readonly verb: Verb
  readonly name: FieldName
  readonly value: string
  readonly onChange: (value: string) => void
}

function FieldOf({ verb, name, value, onChange }: FieldProps): ReactNode {
  const labels: Readonly<Record<FieldName, string>> = {
    reason: verb === 'pause' || verb === 'complete' ? text.operate.note : text.operate.reason,
    step: text.operate.step,
    name: verb === 'migrate' ? text.operate.hash : verb === 'discard' ? text.operate.message : text.operate.name,
    json: jsonLabels[verb] ?? 'Another input, as JSON (empty: the same)',
    typed: text.operate.typeOne,
  }
  return (
    <label className="field">
      <span>{labels[name]}</span>
      {name === 'json' ? (
        <textarea
          className="text mono"
          rows={3}
          spellCheck={false}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <input
          className="text"
          value={value}
          required={name !== 'reason' || verb === 'terminate' || verb === 'complete'}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </label>
  )
}

function isReady(verb: Verb, { step, name, json, typed, reason }: Fields): boolean {
  if (json.trim() !== '' && !isJson(json)) return false
  if (verb === 'terminate') return typed === '1' && reason !== ''
  if (verb === 'complete') return step !== '' && json.trim() !== '' && reason !== ''
  if (verb === 'reset' || verb === 'fork') return step !== ''
  return !fieldsOf[verb].includes('name') || name !== ''
}

function isJson(given: string): boolean {
  try {
    JSON.parse(given)
    return true
  } catch {
    return false
  }
}

function valueOf(json: string): unknown {
  return json.trim() === '' ? undefined : (JSON.parse(json) as unknown)
}

/** Does it. A fork returns its run id. */
async function operate(verb: Verb, { runId }: RunRecord, fields: Fields): Promise<string | undefined> {
  const run = handleOf(runId)
  const reason = fields.reason === '' ? undefined : fields.reason
  const value = valueOf(fields.json)
  switch (verb) {
    case 'cancel':
      await run.cancel(reason)
      return undefined
    case 'terminate':
      await run.terminate(fields.reason)
      return undefined
    case 'pause':
      await run.pause(reason)
      return undefined
    case 'resume':
      await run.resume()
      return undefined
    case 'retry':
      await run.retry()
      return undefined
    case 'reset':
      await run.reset({ step: fields.step })
      return undefined
    case 'signal':
      await run.signal(signal<unknown>(fields.name), value)
      return undefined
    case 'trigger':
      await run.trigger(value)
      return undefined
    case 'complete':
      await run.resume({ step: fields.step, result: value, note: fields.reason })
      return undefined
    case 'migrate':
      await run.migrate({
        definitionHash: fields.name,
        ...(value !== undefined && { steps: value as Readonly<Record<string, string | null>> }),
      })
      return undefined
    case 'discard':
      await run.discardMessage(fields.name, reason)
      return undefined
    case 'fork':
      return (await run.fork({ step: fields.step, ...(value !== undefined && { input: value }) })).runId
  }
}

/** The same as a command of `pawl`, and as a request. */
function Commands({ verb, run, fields }: Pick<DialogProps, 'verb' | 'run'> & { readonly fields: Fields }): ReactNode {
  const commands = [
    [text.operate.cli, cliOf(verb, run, fields)],
    [text.operate.curl, curlOf(verb, run, fields)],
  ] as const
  return <CommandList lines={commands} />
}

function cliOf(verb: Verb, { runId }: RunRecord, { reason, step, name, json }: Fields): string {
  const option = verb === 'pause' ? '--note' : '--reason'
  const more: Readonly<Record<Verb, readonly string[]>> = {
    ...{ resume: [], retry: [], reset: [step], trigger: json === '' ? [] : [json] },
    ...{ fork: [step, ...(json === '' ? [] : ['--input', json])], signal: [name, ...(json === '' ? [] : [json])] },
    ...{ cancel: reason === '' ? [] : [option, reason], terminate: [option, reason] },
    pause: reason === '' ? [] : [option, reason],
    ...{ complete: ['--step', step, '--result', json, '--note', reason], discard: noted([name], reason) },
    migrate: ['--to', name, ...renames(json)],
  }
  return ['pawl', verb === 'complete' ? 'resume' : verb, runId, ...more[verb]].map(shellWord).join(' ')
}

function curlOf(verb: Verb, { runId }: RunRecord, { reason, step, name, json }: Fields): string {
  const bodies: Readonly<Record<Verb, object>> = {
    ...{ resume: {}, retry: {}, reset: { step }, cancel: { reason: reason || undefined }, terminate: { reason } },
    ...{ pause: { note: reason || undefined }, fork: { step, input: shown(json) }, signal: { payload: shown(json) } },
    trigger: { input: shown(json) },
    ...{ complete: { edit: { step, result: shown(json), note: reason } }, discard: { messageId: name, note: reason } },
    migrate: { definitionHash: name, steps: shown(json) },
  }
  const paths: Partial<Readonly<Record<Verb, string>>> = {
    signal: `signals/${encodeURIComponent(name)}`,
    complete: 'resume',
  }
  const path = paths[verb] ?? verb
  const url = `${location.origin}/api/v1/runs/${runId}/${path}`
  const type = shellWord('content-type: application/json')
  return `curl -X POST ${shellWord(url)} -H ${type} -d ${shellWord(JSON.stringify(bodies[verb]))}`
}

function noted(args: readonly string[], note: string): readonly string[] {
  return note === '' ? args : [...args, '--note', note]
}

/** The new names of steps as options of the command. */
function renames(json: string): readonly string[] {
  const names = shown(json)
  if (typeof names !== 'object' || names === null) return []
  return Object.entries(names).flatMap(([from, to]) => (to === null ? ['--skip', from] : ['--step', `${from}=${to}`]))
}

function shown(json: string): unknown {
  return isJson(json) ? valueOf(json) : undefined
}
