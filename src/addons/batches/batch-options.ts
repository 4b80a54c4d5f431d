// The options of batches, and their checks.

import { checkOptions, type Described, text, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { type Migration, migrationOptions, queryOf, type RunFilter } from '../../core/index.ts'

export const batchOptions = {
  limit: whole('Maximum number of runs; call again for the rest.', [1, Number.MAX_SAFE_INTEGER]),
  /** The reason of `cancel` and `terminate` and the note of `pause`, for the history. */
  reason: text('The reason, for the history.'),
} as const
/** Options of a batch. */
export interface BatchOptions extends Described<typeof batchOptions> {
  /** Maximum number of runs. Call again for the rest. */
  readonly limit: number
}

export function checkBatch(filter: RunFilter, options: BatchOptions): void {
  checkOptions(batchOptions, options, { of: 'a batch' })
  if (options.limit === undefined)
    throw new PawlError('INPUT_INVALID', 'a batch has no `limit`; expected the maximum number of runs.')
  queryOf(filter)
}

export function checkMigration(to: Migration): void {
  checkOptions(migrationOptions, to, { of: 'migrate' })
}
