// The filter bar: chips and text are the same thing. What is typed becomes a chip at the space.
import { type KeyboardEvent, type ReactNode, type RefObject, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { KEYS, partsOf, STATUSES, textOf } from '../../data/filter.ts'
import { text } from '../../text.ts'

export interface FilterBarProps {
  readonly query: string
  readonly problems: ReadonlyMap<string, string>
  readonly onChange: (query: string) => void
  readonly workflows: readonly string[]
  readonly field: RefObject<HTMLInputElement | null>
}

export function FilterBar({ query, problems, onChange, workflows, field }: FilterBarProps): ReactNode {
  const [typed, setTyped] = useState('')
  const parts = partsOf(query)
  const commit = (): void => {
    const word = typed.trim()
    if (word === '' || /^[\w.]+:$/.test(word)) return
    setTyped('')
    onChange(query === '' ? word : `${query} ${word}`)
  }
  const press = (event: KeyboardEvent): void => {
    const isOpenQuote = (typed.match(/"/g) ?? []).length % 2 === 1
    if (event.key === 'Enter' || (event.key === ' ' && !isOpenQuote && typed.trim() !== '')) {
      event.preventDefault()
      commit()
    }
    if (event.key === 'Backspace' && typed === '' && parts.length > 0) {
      event.preventDefault()
      setTyped(parts.at(-1)?.text ?? '')
      onChange(textOf(parts.slice(0, -1)))
    }
    if (event.key === 'Escape') field.current?.blur()
  }
  return (
    <div className="query" onClick={() => field.current?.focus()}>
      <Icon name="filter" small />
      {parts.map((part, index) => (
        <span key={part.text} className={problems.has(part.text) ? 'chip bad' : 'chip'} title={problems.get(part.text)}>
          {part.text.includes(':') && <span className="k">{`${part.isNot ? 'not ' : ''}${part.key}`}</span>}
          {part.value}
          <button
            type="button"
            aria-label={text.runs.remove(part.text)}
            onClick={() => onChange(textOf(parts.filter((_, at) => at !== index)))}
          >
            <Icon name="x" small />
          </button>
        </span>
      ))}
      <input
        ref={field}
        list="filter-words"
        aria-label={text.runs.filter}
        placeholder={parts.length === 0 ? text.runs.placeholder : ''}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={press}
        onBlur={commit}
      />
      <datalist id="filter-words">
        {suggestions(typed, workflows).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <kbd>/</kbd>
    </div>
  )
}

function suggestions(typed: string, workflows: readonly string[]): readonly string[] {
  if (typed.startsWith('status:')) return STATUSES.map((each) => `status:${each}`)
  if (typed.startsWith('workflow:')) return workflows.map((each) => `workflow:${each}`)
  if (typed.startsWith('started:')) return ['<1h', '<24h', '<7d', '>24h'].map((each) => `started:${each}`)
  return KEYS.map((key) => (key === 'attr.' ? key : `${key}:`))
}

/** What is wrong with the filter, in words. */
export function FilterProblems({ problems }: { readonly problems: ReadonlyMap<string, string> }): ReactNode {
  return [...problems].map(([part, problem]) => (
    <p key={part} className="filter-problem" role="alert">
      <code>{part}</code> {problem}
    </p>
  ))
}
