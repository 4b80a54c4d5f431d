import type { HistoryEvent, RunHandle } from '../index.ts'

/** The whole history of a run. */
export async function historyOf(run: RunHandle<unknown>): Promise<HistoryEvent[]> {
  const history: HistoryEvent[] = []
  for await (const event of run.history()) history.push(event)
  return history
}
