// A table of what a page is about. On a phone a row is two lines: the cells that say where they go.
import type { ReactNode } from 'react'

export interface Column<T> {
  readonly head: string
  readonly cell: (row: T) => ReactNode
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean
  /** In pixels; without it the column takes what is left. */
  readonly width?: number
  /** Where the cell is on a phone: on the first line, at its end, on the second line; or not at all. */
  readonly narrow?: 'main' | 'side' | 'below' | 'hide'
}

interface TableProps<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly isSelected?: (row: T) => boolean
}

export function DataTable<T>({ label, columns, rows, keyOf, isSelected }: TableProps<T>): ReactNode {
  return (
    <table className="data" aria-label={label}>
      <colgroup>
        {columns.map(({ head, width }) => (
          <col key={head} style={width === undefined ? {} : { width }} />
        ))}
      </colgroup>
      <thead>
        <tr>
          {columns.map(({ head, isNumber = false }) => (
            <th key={head} scope="col" className={isNumber ? 'num' : ''}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} aria-selected={isSelected?.(row) || undefined}>
            {columns.map(({ head, cell, isNumber = false, narrow = 'hide' }) => (
              <td key={head} className={`${isNumber ? 'num ' : ''}n-${narrow}`}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
