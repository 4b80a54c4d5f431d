// Operations on many runs. What was previewed is what is done: the server keeps the list of a batch, and a selection is
// the list itself.
import type { RunFilter } from 'pawl/client'
import { type ReactNode, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { count } from '../../data/format.ts'
import { useForbidden } from '../../data/me.ts'
import { text } from '../../text.ts'
import { BatchDialog } from './batch-dialog.tsx'
import { type BulkVerb, bulkVerbs } from './bulk-verbs.ts'
import { SelectionDialog } from './selection-dialog.tsx'
import type { Row } from './use-runs.ts'

interface BulkProps {
  readonly rows: readonly Row[]
  readonly filter: RunFilter
  readonly total: number | undefined
  readonly isAll: boolean
  readonly onAll: () => void
  readonly onClear: () => void
}

export function BulkBar({ rows, filter, total, isAll, onAll, onClear }: BulkProps): ReactNode {
  const [verb, setVerb] = useState<BulkVerb>()
  const forbidden = useForbidden()
  const chosen = isAll ? (total ?? rows.length) : rows.length
  const matching = total === undefined ? '' : count(total)
  return (
    <div className="bulk" role="toolbar" aria-label={text.runs.shown(count(chosen))}>
      <span>
        <b>{text.runs.shown(count(chosen))}</b>
      </span>
      {!isAll && total !== undefined && total > rows.length && (
        <button type="button" className="btn quiet link" onClick={onAll}>
          {text.runs.matching(matching)}
        </button>
      )}
      <span className="sep" />
      {bulkVerbs.map((each) => (
        <button
          key={each}
          type="button"
          className={each === 'cancel' || each === 'terminate' ? 'btn quiet danger' : 'btn quiet'}
          disabled={forbidden !== undefined}
          title={forbidden}
          onClick={() => setVerb(each)}
        >
          {`${text.verbs[each]}…`}
        </button>
      ))}
      <button type="button" className="btn quiet icon" aria-label={text.close} onClick={onClear}>
        <Icon name="x" small />
      </button>
      {verb && isAll && <BatchDialog verb={verb} filter={filter} onClose={() => setVerb(undefined)} />}
      {verb && !isAll && <SelectionDialog verb={verb} rows={rows} onClose={() => setVerb(undefined)} />}
    </div>
  )
}
