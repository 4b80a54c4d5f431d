// A row that another transaction has locked delays its own run, and none that travels in the same batch.
import { PawlError } from '../base/errors.ts'

/** Nothing of the batch was written, because another transaction has locked rows of it: those of `which`, if known. */
export class RowsLocked extends PawlError {
  readonly which: ReadonlySet<number>

  constructor(cause: unknown, which: Iterable<number> = []) {
    super('STORE_UNAVAILABLE', 'another transaction keeps a row of the store locked', { cause })
    this.which = new Set(which)
  }
}
