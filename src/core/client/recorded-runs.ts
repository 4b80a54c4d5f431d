// Whole runs as they are stored, many at a time: to be replayed elsewhere, or to be kept.
import type { Status } from '../kernel/run.ts'
import type { ListQuery, RunSnapshot, Store, StoredTurn } from '../stores/store.ts'
import { historyAsk, type Load, pageIn, turnsOf } from './history.ts'

export const LIVE: readonly Status[] = ['pending', 'running', 'waiting', 'paused', 'compensating']

const TOGETHER = 100

/** Runs that fit a query, with all their turns. */
export async function* recordedRuns(
  store: Store,
  query: Omit<ListQuery, 'limit' | 'cursor'>,
): AsyncGenerator<{ readonly run: RunSnapshot; readonly turns: readonly StoredTurn[] }> {
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({
      ...query,
      limit: TOGETHER,
      ...(cursor !== undefined && { cursor }),
    })
    const load: Load = (asks) => store.load(asks)
    const histories = await load(page.runs.map(({ head }) => historyAsk(head, 0)))
    for (const [index, run] of page.runs.entries()) {
      yield { run, turns: await turnsOf(load, run.head, pageIn(histories[index])) }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
