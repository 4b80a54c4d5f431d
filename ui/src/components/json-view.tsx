// A value as a tree: long lists and deep objects are folded, long texts are cut until they are asked for.
import { type ReactNode, useMemo, useState } from 'react'
import { count, jsonOf, visible } from '../data/format.ts'
import { text } from '../text.ts'
import { runText } from '../texts/run.ts'
import { CopyButton } from './copy-button.tsx'
import { download } from './download.ts'

const CUT = 2_000
const OPEN_ITEMS = 40
const SHOWN_ITEMS = 200

/** Longer values are not shown: laying them out would make the page slow. */
const SHOWN_MAX = 200_000

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }): ReactNode {
  const [isRaw, setRaw] = useState(false)
  const json = useMemo(() => jsonOf(value), [value])
  return (
    <figure className="value" aria-label={label}>
      <figcaption>
        <h3>{label}</h3>
        <span className="grow" />
        <button type="button" className="btn quiet" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          {text.run.raw}
        </button>
        <CopyButton value={json} />
      </figcaption>
      <div className="json" tabIndex={0} role="group" aria-label={label}>
        {json.length > SHOWN_MAX ? (
          <span className="p">
            {runText.large(`${count(json.length)} characters`)}{' '}
            <button type="button" className="btn" onClick={() => download('value.json', json)}>
              {runText.download}
            </button>
          </span>
        ) : isRaw ? (
          visible(json).replaceAll('␊', '\n')
        ) : (
          <Node value={value} depth={0} />
        )}
      </div>
    </figure>
  )
}

function Node({ value, depth }: { readonly value: unknown; readonly depth: number }): ReactNode {
  if (typeof value === 'string') return <Text value={value} />
  if (typeof value === 'number' || typeof value === 'bigint')
    return <span className="d">{typeof value === 'bigint' ? `${value}n` : String(value)}</span>
  if (value instanceof Date) return <span className="a">{value.toISOString()}</span>
  if (value instanceof Uint8Array) return <span className="a">{`[${value.length} bytes]`}</span>
  if (typeof value !== 'object' || value === null) return <span className="a">{String(value)}</span>
  return <Branch value={value} depth={depth} />
}

function Text({ value }: { readonly value: string }): ReactNode {
  const [isWhole, setWhole] = useState(value.length <= CUT)
  return (
    <span className="s">
      {visible(JSON.stringify(isWhole ? value : value.slice(0, CUT)))}
      {!isWhole && (
        <button type="button" className="btn quiet" onClick={() => setWhole(true)}>
          {`… ${value.length - CUT} more`}
        </button>
      )}
    </span>
  )
}

function entriesOf(value: object): readonly (readonly [string | undefined, unknown])[] {
  if (Array.isArray(value)) return value.map((each: unknown) => [undefined, each] as const)
  if (value instanceof Map) return [...value].map(([key, each]) => [jsonOf(key, 0), each as unknown] as const)
  if (value instanceof Set) return [...value].map((each: unknown) => [undefined, each] as const)
  return Object.entries(value)
}

function Branch({ value, depth }: { readonly value: object; readonly depth: number }): ReactNode {
  const entries = entriesOf(value)
  const [isOpen, setOpen] = useState(depth < 2 || entries.length <= OPEN_ITEMS)
  const isList = Array.isArray(value) || value instanceof Set
  const [before, after] = isList ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) return <span className="p">{before + after}</span>
  const shown = isOpen ? entries.slice(0, SHOWN_ITEMS) : []
  return (
    <>
      <button type="button" className="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {value instanceof Map ? 'Map ' : value instanceof Set ? 'Set ' : ''}
        {before}
        {!isOpen && `… ${entries.length} ${after}`}
      </button>
      {shown.map(([name, each], index) => (
        <div key={index} className="line">
          {name !== undefined && <span className="k">{`"${visible(name)}": `}</span>}
          <Node value={each} depth={depth + 1} />
          {index < entries.length - 1 && <span className="p">,</span>}
        </div>
      ))}
      {isOpen && entries.length > SHOWN_ITEMS && (
        <div className="line p">{`… ${entries.length - SHOWN_ITEMS} more`}</div>
      )}
      {isOpen && <span className="p">{after}</span>}
    </>
  )
}
