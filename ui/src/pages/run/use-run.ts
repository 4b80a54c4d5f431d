// A run, why it makes no progress, and its timeline: read once, and again when its stream says that something happened.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { LiveEvents, RunRecord, Timeline, Why } from 'pawl/client'
import { useRef } from 'react'
import { client } from '../../data/client.ts'
import { useLive } from '../../data/live.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export function handleOf(run: string): ReturnType<ReturnType<typeof client>['get']> {
  return client().get(UUID.test(run) ? run : { workflowId: run.replace(/^w:/, '') })
}

export interface OpenRun {
  readonly run: RunRecord | undefined
  readonly why: Why | undefined
  readonly timeline: Timeline | undefined
  readonly error: unknown
  readonly again: () => void
}

export function useRun(id: string): OpenRun {
  const queries = useQueryClient()
  const run = useQuery({ queryKey: ['run', id, 'record'], queryFn: () => handleOf(id).describe() })
  const why = useQuery({ queryKey: ['run', id, 'why'], queryFn: () => handleOf(id).why() })
  const timeline = useQuery({ queryKey: ['run', id, 'timeline'], queryFn: () => handleOf(id).timeline() })
  const again = (): void => void queries.invalidateQueries({ queryKey: ['run', id] })
  // The stream is of one run, even if the address names a workflow id. It stays open after the end: a run that has
  // ended may be retried or reset.
  const runId = run.data?.runId
  const beginning = useRef({ runId: '', after: '' })
  if (runId !== undefined && beginning.current.runId !== runId)
    beginning.current = { runId, after: `${run.data?.generation ?? 1}.0` }
  const hear = (events: readonly LiveEvents['live.run'][]): void => {
    for (const each of events)
      if (each.event === 'state' && each.data.why) queries.setQueryData(['run', id, 'why'], dated(each.data.why))
    again()
  }
  const { after } = beginning.current
  useLive('live.run', runId === undefined ? undefined : { run: runId, after }, hear)
  return { run: run.data, why: why.data, timeline: timeline.data, error: run.error, again }
}

/** The stream has times as texts. */
function dated(why: Why): Why {
  const { until } = why as { readonly until?: unknown }
  return typeof until === 'string' ? ({ ...why, until: new Date(until) } as Why) : why
}
