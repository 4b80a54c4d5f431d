// Starts a run: the workflow, its input as a form of its schema or as JSON, and the options of a start.
import type { OperationOutput } from 'pawl/client'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Command, Field, ReadOnly } from '../components/act.tsx'
import { Icon } from '../components/icon.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageFrame, Section } from '../components/page.tsx'
import { Problem, Teach } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { toast } from '../components/toasts.tsx'
import { runPath, useField, useSegment } from '../data/address.ts'
import { client } from '../data/client.ts'
import { brief, jsonOf, plural, shellWord, visible } from '../data/format.ts'
import { useMay } from '../data/me.ts'
import { paths, startPath } from '../data/pages.ts'
import { usePolled } from '../data/polled.ts'
import { text } from '../text.ts'
import { pageText } from '../texts/pages.ts'
import { SchemaForm } from './start/form.tsx'
import { defaultOf, type Schema } from './start/schema.ts'

type Workflow = OperationOutput<'workflows.list'>['items'][number]

const EVERY_MS = 15_000
const NEWEST = 10
const words = pageText.start

export function StartPage(): ReactNode {
  const name = useSegment(1)
  const query = usePolled(['workflows'], async () => (await client().call('workflows.list', {})).items, {
    everyMs: EVERY_MS,
  })
  return (
    <PageFrame title={pageText.nav.start} crumbs={<Crumbs name={name} />}>
      <Loaded query={query}>
        {(items) => {
          const known = items.find((each) => each.name === name)
          return name === '' ? <Choose items={items} /> : <Form key={name} workflow={known ?? { name, workers: 0 }} />
        }}
      </Loaded>
    </PageFrame>
  )
}

function Crumbs({ name }: { readonly name: string }): ReactNode {
  if (name === '') return <h1>{pageText.nav.start}</h1>
  return (
    <>
      <Link href={paths.start}>{pageText.nav.start}</Link>
      <span className="sep">/</span>
      <h1 className="cut">{visible(name)}</h1>
    </>
  )
}

function Choose({ items }: { readonly items: readonly Workflow[] }): ReactNode {
  const [, go] = useLocation()
  const [other, setOther] = useState('')
  if (items.length === 0) return <Teach title={words.none} about={words.noneAbout} command={words.command} />
  return (
    <Section title={words.choose} about={words.chooseAbout}>
      <ul className="choices">
        {items.map(({ name, workers, input }) => (
          <li key={name}>
            <Link href={startPath(name)}>
              <Icon name="k-function" />
              <span className="mono medium cut">{visible(name)}</span>
              <span className="muted">{plural(workers, 'worker')}</span>
              {input !== undefined && <span className="tag">{words.form}</span>}
            </Link>
          </li>
        ))}
      </ul>
      <form
        className="pad row"
        onSubmit={(event) => {
          event.preventDefault()
          if (other.trim() !== '') go(startPath(other.trim()))
        }}
      >
        <Field label={words.other} value={other} onChange={setOther} />
        <button type="submit" className="btn align-end">
          {words.workflow}
        </button>
      </form>
    </Section>
  )
}

interface Options {
  readonly workflowId: string
  readonly queue: string
  readonly delay: string
}

function Form({ workflow }: { readonly workflow: Workflow }): ReactNode {
  const { name, workers } = workflow
  const schema = workflow.input as Schema | undefined
  const [json, setJson] = useState(() => (schema === undefined ? '' : jsonOf(defaultOf(schema))))
  const [options, setOptions] = useState<Options>({ workflowId: '', queue: '', delay: '' })
  const { submit, error, isAsked } = useStart(name, json, options)
  const may = useMay('operate')
  return (
    <div className="start">
      <form onSubmit={submit}>
        {workers === 0 && <p className="note paused">{words.noWorker}</p>}
        <Input schema={schema} json={json} onChange={setJson} />
        <details>
          <summary>{words.advanced}</summary>
          <div className="fields">
            {(['workflowId', 'queue', 'delay'] as const).map((each) => (
              <Field
                key={each}
                label={words[each]}
                value={options[each]}
                onChange={(next) => setOptions({ ...options, [each]: next })}
              />
            ))}
          </div>
        </details>
        {error !== undefined && <Problem error={error} />}
        <Command command={commandOf(name, json, options)} />
        <footer className="row">
          {may && (
            <button type="submit" className="btn primary" disabled={isAsked || !parsed(json).isJson}>
              {`${words.act} ${visible(name)}`}
            </button>
          )}
          <ReadOnly />
        </footer>
      </form>
      <Last name={name} onUse={(input) => setJson(jsonOf(input))} />
    </div>
  )
}

interface InputProps {
  readonly schema: Schema | undefined
  readonly json: string
  readonly onChange: (json: string) => void
}

/** The input as a form of its schema, or as JSON: both are the same text. */
function Input({ schema, json, onChange }: InputProps): ReactNode {
  const [mode, setMode] = useField('as')
  const value = parsed(json)
  const isForm = schema !== undefined && mode !== 'json' && value.isJson
  return (
    <>
      <header className="row">
        <h2 className="grow">{words.input}</h2>
        {schema === undefined ? (
          <span className="muted">{words.noSchema}</span>
        ) : (
          <span className="segmented" role="group" aria-label={words.input}>
            {(['form', 'json'] as const).map((each) => (
              <button
                key={each}
                type="button"
                className="btn"
                aria-pressed={(each === 'form') === isForm}
                onClick={() => setMode(each === 'form' ? '' : 'json')}
              >
                {words[each]}
              </button>
            ))}
          </span>
        )}
      </header>
      {isForm ? (
        <SchemaForm schema={schema} value={value.value} onChange={(next) => onChange(jsonOf(next))} />
      ) : (
        <label className="field">
          <span>{words.inputJson}</span>
          <textarea
            className="text mono"
            rows={10}
            spellCheck={false}
            value={json}
            aria-invalid={!value.isJson}
            onChange={({ target }) => onChange(target.value)}
          />
          {!value.isJson && <span className="failed">{words.notJson}</span>}
        </label>
      )}
    </>
  )
}

interface Starting {
  readonly submit: (event: FormEvent) => void
  readonly error: unknown
  readonly isAsked: boolean
}

/** One key for one form: pressing twice, or a lost answer, starts one run. */
function useStart(workflow: string, json: string, { workflowId, queue, delay }: Options): Starting {
  const [, go] = useLocation()
  const [error, setError] = useState<unknown>()
  const [isAsked, setAsked] = useState(false)
  const [key, setKey] = useState(() => crypto.randomUUID())
  useEffect(() => setKey(crypto.randomUUID()), [workflow, json, workflowId, queue, delay])
  const start = async (): Promise<void> => {
    const own = {
      ...(workflowId !== '' && { workflowId }),
      ...(queue !== '' && { queue }),
      ...(delay !== '' && { delay: delay as '1s' }),
    }
    const input = parsed(json).value
    const run = await client().call('runs.start', { workflow, input, idempotencyKey: key, ...own })
    toast(words.opened, { href: runPath(run.runId) })
    go(runPath(run.runId))
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setError(undefined)
    setAsked(true)
    start().catch((problem: unknown) => {
      setError(problem)
      setAsked(false)
    })
  }
  return { submit, error, isAsked }
}

/** The inputs of the newest runs, to be used again. */
function Last({ name, onUse }: { readonly name: string; readonly onUse: (input: unknown) => void }): ReactNode {
  const query = usePolled(['inputs', name], () => client().list({ workflow: name }, { limit: NEWEST }), {
    everyMs: EVERY_MS,
  })
  const runs = query.data?.items.filter(({ input }) => input !== undefined) ?? []
  if (runs.length === 0) return null
  return (
    <Section title={words.last}>
      <ul className="last-inputs">
        {runs.map(({ runId, workflowId, input, createdAt }) => (
          <li key={runId}>
            <span className="grow">
              <Link className="mono cut" href={runPath(runId)}>
                {visible(workflowId)}
              </Link>{' '}
              <span className="muted">
                <Time at={createdAt} />
              </span>
              <code className="cut two">{visible(brief(input))}</code>
            </span>
            <button
              type="button"
              className="btn"
              aria-label={`${words.use}: ${text.run.input}, ${workflowId}`}
              onClick={() => onUse(input)}
            >
              {words.use}
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function parsed(json: string): { readonly isJson: boolean; readonly value: unknown } {
  if (json.trim() === '') return { isJson: true, value: undefined }
  try {
    return { isJson: true, value: JSON.parse(json) as unknown }
  } catch {
    return { isJson: false, value: undefined }
  }
}

function commandOf(name: string, json: string, { workflowId, queue, delay }: Options): string {
  const { isJson, value } = parsed(json)
  const option = (flag: string, given: string): readonly string[] => (given === '' ? [] : [flag, given])
  const input = isJson && value !== undefined ? [JSON.stringify(value)] : []
  const more = [...option('--workflow-id', workflowId), ...option('--queue', queue), ...option('--delay', delay)]
  return ['pawl', 'start', name, ...input, ...more].map(shellWord).join(' ')
}
