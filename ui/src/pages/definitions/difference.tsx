// The difference between two versions of a definition, by the lines of their documents.
import type { OperationOutput } from 'pawl/client'
import { type ReactNode, useMemo } from 'react'
import { Section } from '../../components/page.tsx'
import { useField } from '../../data/address.ts'
import { count, jsonOf, visible } from '../../data/format.ts'
import { pageText } from '../../texts/pages.ts'
import { difference, type Line } from './lines.ts'

type Version = OperationOutput<'definitions.get'>['items'][number]

const AROUND = 3
const words = pageText.definitions

export function Difference({ versions }: { readonly versions: readonly Version[] }): ReactNode {
  const [from, setFrom] = useField('from')
  const [to, setTo] = useField('to')
  const newest = versions[0]?.version ?? 1
  const [one, other] = [Number(from) || Math.max(1, newest - 1), Number(to) || newest]
  const document = (version: number): unknown => versions.find((each) => each.version === version)?.document
  const [before, after] = [document(one), document(other)]
  const lines = useMemo(
    () => (before === undefined || after === undefined ? [] : difference(jsonOf(before), jsonOf(after))),
    [before, after],
  )
  if (before === undefined || after === undefined) return <p className="muted pad">{words.shownOnly}</p>
  const select = (label: string, value: number, set: (value: string) => void): ReactNode => (
    <label className="row">
      <span className="muted">{label}</span>
      <select className="text" value={value} onChange={({ target }) => set(target.value)}>
        {versions.map(({ version }) => (
          <option key={version}>{version}</option>
        ))}
      </select>
    </label>
  )
  const isSame = lines.every(({ is }) => is === 'same')
  return (
    <Section
      title={versions.length > 1 ? words.compare : words.document}
      actions={
        versions.length > 1 && (
          <>
            {select(words.from, one, setFrom)}
            {select(words.to, other, setTo)}
          </>
        )
      }
    >
      {isSame && versions.length > 1 && <p className="muted pad">{words.same}</p>}
      <div className="pad">
        <div
          className="json diff"
          tabIndex={0}
          role="group"
          aria-label={words.compareAbout(String(one), String(other))}
        >
          {isSame ? lines.map((line, index) => <Row key={index} line={line} />) : <Folded lines={lines} />}
        </div>
      </div>
    </Section>
  )
}

const signs = { same: ' ', added: '+', removed: '-' } as const

function Row({ line: { is, text } }: { readonly line: Line }): ReactNode {
  const kind = is === 'added' ? 'add' : is === 'removed' ? 'del' : ''
  return (
    <span className={`diff-line ${kind}`}>
      <span className="sign" aria-hidden="true">
        {signs[is]}
      </span>
      {is !== 'same' && <span className="sr">{words[is]}: </span>}
      {visible(text)}
    </span>
  )
}

/** Stretches without a change are told as their length, but for some lines around each change. */
function Folded({ lines }: { readonly lines: readonly Line[] }): ReactNode {
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ is }) => is !== 'same')
  const shown: ReactNode[] = []
  let folded = 0
  const fold = (index: number): void => {
    if (folded > 0) {
      shown.push(
        <span key={`fold ${index}`} className="diff-line p">
          … {words.unchanged(count(folded))}
        </span>,
      )
    }
    folded = 0
  }
  for (const [index, line] of lines.entries()) {
    if (!isNear(index)) {
      folded++
      continue
    }
    fold(index)
    shown.push(<Row key={index} line={line} />)
  }
  fold(lines.length)
  return shown
}
