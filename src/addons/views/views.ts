// Saved views of runs: a name and a query of the filter bar, shared by all who use the store. All of them are one record,
// so that saving and deleting one is a single write.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { checkName } from '../../core/base/names.ts'
import { quote } from '../../core/base/visible.ts'
import type { Records } from '../../core/index.ts'

/** A saved view of runs. */
export interface ViewRecord {
  readonly name: string
  /** The query, as the filter bar of the web UI has it. */
  readonly query: string
}

const SPACE = 'views'
const KEY = 'all'

/** The views of a store, by their names. */
export async function listViews(records: Records): Promise<readonly ViewRecord[]> {
  return (await records.get<readonly ViewRecord[]>(SPACE, KEY))?.value ?? []
}

/** Saves a view, or replaces the query of the one with this name. */
export async function setView(records: Records, { name, query }: ViewRecord): Promise<void> {
  checkName(name, 'the name of a view')
  if (query.length === 0 || query.length > limits.viewQueryLengthMax) {
    const expected = `expected between 1 and ${limits.viewQueryLengthMax}`
    throw new PawlError(
      'INPUT_INVALID',
      `the query of view ${quote(name)} has ${query.length} characters; ${expected}.`,
    )
  }
  await records.change<readonly ViewRecord[]>(SPACE, KEY, (there = []) => {
    const others = there.filter((each) => each.name !== name)
    if (others.length >= limits.viewsMax) {
      throw new PawlError('INPUT_INVALID', `there are ${limits.viewsMax} views already. Delete one first.`)
    }
    return [...others, { name, query }].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  })
}

/** Deletes a view. Deleting one that does not exist changes nothing. */
export async function deleteView(records: Records, name: string): Promise<void> {
  if (!(await listViews(records)).some((each) => each.name === name)) return
  await records.change<readonly ViewRecord[]>(SPACE, KEY, (there = []) => there.filter((each) => each.name !== name))
}
