// The events of one step, with their values.
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { HistoryEvent } from 'pawl/client'
import { client } from '../../data/client.ts'

/** A step that was tried more often shows its newest events. */
const MOST = 200

export interface Place {
  readonly run: string
  readonly generation: number
}

export async function stepEvents({ run, generation }: Place, step: string): Promise<readonly HistoryEvent[]> {
  const page = await client().call('runs.history', { run, generation, step, limit: MOST })
  return page.events
}

/** What a step returned, or how it failed; no value while it has neither. */
export function useStepResult(
  place: Place,
  step: string | undefined,
  state = '',
): UseQueryResult<{ readonly value?: unknown }> {
  return useQuery({
    queryKey: ['result', place.run, place.generation, step, state],
    queryFn: async () => {
      const events = step === undefined ? [] : await stepEvents(place, step)
      const end = events.findLast(({ type }) => /(?:Completed|Failed)$/.test(type))
      if (!end) return {}
      return { value: 'result' in end ? end.result : (end as { readonly failure?: unknown }).failure }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
}
