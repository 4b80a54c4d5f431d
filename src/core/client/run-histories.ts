// Runs with their whole histories, page by page: for checks against new code, and for exports.
import { defined } from '../base/defined.ts'
import type { ListQuery, RunSnapshot, Store, StoredTurn } from '../stores/store.ts'
import { historyAsk, type Load, pageIn, turnsOf } from './history.ts'

const PAGE_RUNS = 100

/** The runs that match a query, each with all turns of its current generation. */
export async function* runHistories(
  store: Store,
  query: Omit<ListQuery, 'limit' | 'cursor'>,
): AsyncGenerator<{ readonly run: RunSnapshot; readonly turns: readonly StoredTurn[] }> {
  for (let cursor: string | undefined; ; ) {
    const page = await store.list(defined({ ...query, limit: PAGE_RUNS, cursor }))
    const load: Load = (asks) => store.load(asks)
    const histories = await load(page.runs.map(({ head }) => historyAsk(head, 0)))
    for (const [index, run] of page.runs.entries()) {
      yield { run, turns: await turnsOf(load, run.head, pageIn(histories[index])) }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
