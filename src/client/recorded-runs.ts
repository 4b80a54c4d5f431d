// Whole runs as they are stored, many at a time: to be replayed elsewhere, or to be kept.
import { limits } from '../kernel/limits.ts'
import type { Status } from '../kernel/run.ts'
import type { ListQuery, RunSnapshot, Store, StoredHead, StoredTurn } from '../stores/store.ts'

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
    const histories = await store.load(page.runs.map(({ head }) => historyOf(head, 0)))
    for (const [index, run] of page.runs.entries()) {
      const loaded = histories[index]
      const turns = loaded?.type === 'history' ? loaded.turns : []
      yield { run, turns: await allTurns(store, run.head, turns) }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}

async function allTurns(
  store: Store,
  head: StoredHead,
  first: readonly StoredTurn[],
): Promise<readonly StoredTurn[]> {
  const turns = [...first]
  for (let page = first; page.length === limits.historyPageTurns; ) {
    const last = page.at(-1)
    const [loaded] = await store.load([historyOf(head, last ? last.seq + last.count : 0)])
    page = loaded?.type === 'history' ? loaded.turns : []
    turns.push(...page)
  }
  return turns
}

function historyOf({ runId, generation }: StoredHead, after: number) {
  return { type: 'history', runId, generation, after, turns: limits.historyPageTurns } as const
}
