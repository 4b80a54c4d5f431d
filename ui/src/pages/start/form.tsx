// A form of a JSON Schema. What it makes is the input; what it cannot show is a field for JSON.
import { type ReactNode, useId, useState } from 'react'
import { jsonOf, visible } from '../../data/format.ts'
import { pageText } from '../../texts/pages.ts'
import { couldBe, defaultOf, isRequired, kindOf, nameOf, type Schema, variantsOf } from './schema.ts'

const words = pageText.start

interface NodeProps {
  readonly schema: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  /** What it is called; the whole input has no name. */
  readonly name?: string
  readonly isNeeded?: boolean
}

export function SchemaForm(props: Omit<NodeProps, 'name'>): ReactNode {
  return (
    <div className="schema-form">
      <Node {...props} isNeeded />
    </div>
  )
}

function Node(props: NodeProps): ReactNode {
  const { schema } = props
  switch (kindOf(schema)) {
    case 'object':
      return <ObjectNode {...props} />
    case 'list':
      return <ListNode {...props} />
    case 'union':
      return <UnionNode {...props} />
    case 'json':
      return <JsonNode {...props} />
    default:
      return <Scalar {...props} />
  }
}

type Fields = Readonly<Record<string, unknown>>

function ObjectNode({ schema, value, onChange, name }: NodeProps): ReactNode {
  const there = (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) as Fields
  const set = (field: string, next: unknown): void => {
    const { [field]: _, ...rest } = there
    onChange(next === undefined ? rest : { ...rest, [field]: next })
  }
  return (
    <fieldset className={name === undefined ? 'whole' : ''}>
      {name !== undefined && <Legend schema={schema} name={name} />}
      {Object.entries(schema.properties ?? {}).map(([field, of]) => {
        const isNeeded = isRequired(schema, field)
        const isThere = Object.hasOwn(there, field)
        return (
          <div key={field} className="of">
            {!isNeeded && (
              <label className="given">
                <input
                  type="checkbox"
                  className="check"
                  checked={isThere}
                  onChange={({ target }) => set(field, target.checked ? defaultOf(of) : undefined)}
                />
                <span className="sr">{`${visible(field)} ${words.present}`}</span>
              </label>
            )}
            {isThere || isNeeded ? (
              <Node
                schema={of}
                name={field}
                value={there[field]}
                isNeeded={isNeeded}
                onChange={(next) => set(field, next)}
              />
            ) : (
              <span className="muted absent">
                {visible(field)}, {words.absent}
              </span>
            )}
          </div>
        )
      })}
    </fieldset>
  )
}

function Legend({ schema, name }: { readonly schema: Schema; readonly name: string }): ReactNode {
  return (
    <legend>
      {visible(name)}
      {schema.description !== undefined && <span className="muted"> {visible(schema.description)}</span>}
    </legend>
  )
}

function ListNode({ schema, value, onChange, name }: NodeProps): ReactNode {
  const there: readonly unknown[] = Array.isArray(value) ? value : []
  const items = schema.items ?? {}
  return (
    <fieldset>
      {name !== undefined && <Legend schema={schema} name={name} />}
      {there.map((each, index) => (
        <div key={index} className="item">
          <Node
            schema={items}
            name={String(index + 1)}
            value={each}
            isNeeded
            onChange={(next) => onChange(there.with(index, next))}
          />
          <button
            type="button"
            className="btn quiet"
            aria-label={`${words.remove} ${name ?? ''} ${index + 1}`}
            onClick={() => onChange(there.toSpliced(index, 1))}
          >
            {words.remove}
          </button>
        </div>
      ))}
      <p>
        <button type="button" className="btn" onClick={() => onChange([...there, defaultOf(items)])}>
          {words.add}
        </button>
      </p>
    </fieldset>
  )
}

function UnionNode({ schema, value, onChange, name }: NodeProps): ReactNode {
  const variants = variantsOf(schema)
  const at = Math.max(
    0,
    variants.findIndex((variant) => couldBe(variant, value)),
  )
  const chosen = variants[at] ?? {}
  return (
    <fieldset>
      {name !== undefined && <Legend schema={schema} name={name} />}
      <label className="field">
        <span>{words.choice}</span>
        <select
          className="text"
          value={at}
          onChange={({ target }) => onChange(defaultOf(variants[Number(target.value)] ?? {}))}
        >
          {variants.map((variant, index) => (
            <option key={index} value={index}>
              {visible(nameOf(variant))}
            </option>
          ))}
        </select>
      </label>
      <Node schema={chosen} value={value} onChange={onChange} />
    </fieldset>
  )
}

function Label({ schema, name, isNeeded }: Pick<NodeProps, 'schema' | 'name' | 'isNeeded'>): ReactNode {
  return (
    <span>
      {visible(name ?? schema.title ?? words.input)}
      {isNeeded === true && <b title={words.required}> *</b>}
      {schema.description !== undefined && ` ${visible(schema.description)}`}
    </span>
  )
}

function Scalar({ schema, value, onChange, name, isNeeded }: NodeProps): ReactNode {
  const label = <Label schema={schema} name={name ?? ''} isNeeded={isNeeded ?? false} />
  const kind = kindOf(schema)
  if (kind === 'boolean') {
    return (
      <label className="row">
        <input
          type="checkbox"
          className="check"
          checked={value === true}
          onChange={({ target }) => onChange(target.checked)}
        />
        {label}
      </label>
    )
  }
  if (kind === 'choice') {
    const choices = schema.enum ?? []
    return (
      <label className="field">
        {label}
        <select
          className="text"
          value={choices.indexOf(value)}
          onChange={({ target }) => onChange(choices[Number(target.value)])}
        >
          {choices.map((choice, index) => (
            <option key={index} value={index}>
              {visible(String(choice))}
            </option>
          ))}
        </select>
      </label>
    )
  }
  if (kind === 'number') return <NumberNode {...{ schema, value, onChange }} label={label} />
  return (
    <label className="field">
      {label}
      <input
        className="text"
        type={schema.format === 'date' ? 'date' : 'text'}
        value={typeof value === 'string' ? value : ''}
        required={isNeeded === true && (schema.minLength ?? 0) > 0}
        minLength={schema.minLength}
        maxLength={schema.maxLength}
        spellCheck={false}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}

interface NumberProps extends Pick<NodeProps, 'schema' | 'value' | 'onChange'> {
  readonly label: ReactNode
}

/** What is typed is kept: `1.` on the way to `1.5` is no number yet. */
function NumberNode({ schema, value, onChange, label }: NumberProps): ReactNode {
  const [typed, setTyped] = useState<string>()
  const shown = typed !== undefined && Number(typed) === value ? typed : typeof value === 'number' ? String(value) : ''
  return (
    <label className="field">
      {label}
      <input
        className="text"
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        min={schema.minimum}
        max={schema.maximum}
        required
        value={shown}
        onChange={({ target }) => {
          setTyped(target.value)
          onChange(target.value === '' ? null : Number(target.value))
        }}
      />
    </label>
  )
}

function JsonNode({ schema, value, onChange, name, isNeeded }: NodeProps): ReactNode {
  const [typed, setTyped] = useState(() => jsonOf(value ?? null))
  const [isWrong, setWrong] = useState(false)
  const problem = useId()
  const change = (next: string): void => {
    setTyped(next)
    try {
      onChange(JSON.parse(next) as unknown)
      setWrong(false)
    } catch {
      setWrong(true)
    }
  }
  return (
    <label className="field">
      <Label schema={schema} name={`${name ?? words.input}, ${words.unsupported}`} isNeeded={isNeeded ?? false} />
      <textarea
        className="text mono"
        rows={3}
        spellCheck={false}
        value={typed}
        aria-invalid={isWrong}
        aria-describedby={problem}
        onChange={({ target }) => change(target.value)}
      />
      <span id={problem} className="failed">
        {isWrong && words.notJson}
      </span>
    </label>
  )
}
