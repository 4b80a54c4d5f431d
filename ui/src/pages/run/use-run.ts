// A run, why it makes no progress, its steps and its timeline: read once, and again when its stream says that something
// happened. With an event number in the address, steps and timeline are those of that moment.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { LiveEvents, RunRecord, StepRecord, Timeline, Why } from 'pawl/client'
import { useRef } from 'react'
import { useField } from '../../data/address.ts'
import { client } from '../../data/client.ts'
import { useLive } from '../../data/live.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export function handleOf(run: string): ReturnType<ReturnType<typeof client>['get']> {
  return client().get(UUID.test(run) ? run : { workflowId: run.replace(/^w:/, '') })
}

/** What of a run is shown: a generation, and the event after which it is shown. */
export interface View {
  readonly generation?: number
  readonly at?: number
}

export function useView(): View {
  const [generation] = useField('gen')
  const [at] = useField('at')
  return {
    ...(/^\d+$/.test(generation) && { generation: Number(generation) }),
    ...(/^\d+$/.test(at) && { at: Number(at) }),
  }
}

export interface OpenRun {
  readonly run: RunRecord | undefined
  readonly why: Why | undefined
  readonly timeline: Timeline | undefined
  /** Undefined until they are read. */
  readonly steps: readonly StepRecord[] | undefined
  readonly error: unknown
  readonly again: () => void
}

/** How many rows a timeline may have to be read again at each change, and how long it then stays as it is. */
const MANY = 1_000
const MANY_MS = 4_000

export function useRun(id: string): OpenRun {
  const queries = useQueryClient()
  const view = useView()
  const run = useQuery({ queryKey: ['run', id, 'record'], queryFn: () => handleOf(id).describe() })
  const why = useQuery({ queryKey: ['run', id, 'why'], queryFn: () => handleOf(id).why() })
  const timeline = useQuery({
    queryKey: ['run', id, 'timeline', view],
    queryFn: () => handleOf(id).timeline(view),
    placeholderData: (before) => before,
  })
  const steps = useQuery({
    queryKey: ['run', id, 'steps', view],
    queryFn: () => handleOf(id).steps(view),
    placeholderData: (before) => before,
  })
  const isLarge = (timeline.data?.rows.length ?? 0) > MANY
  const again = useThrottled((isWhole) => {
    const isNow = ([, , what]: readonly unknown[]): boolean => isWhole || (what !== 'timeline' && what !== 'steps')
    // Parts of the page know the run by its run id, even if the address has its workflow id.
    for (const known of new Set([id, run.data?.runId ?? id]))
      void queries.invalidateQueries({ queryKey: ['run', known], predicate: ({ queryKey }) => isNow(queryKey) })
  }, isLarge)
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
  return {
    run: run.data,
    why: why.data,
    timeline: timeline.data,
    steps: steps.data,
    error: run.error ?? timeline.error,
    again,
  }
}

/** Calls at once with false; and with true at once, or a while later if what it reads is large. */
function useThrottled(act: (isWhole: boolean) => void, isLarge: boolean): () => void {
  const latest = useRef(act)
  latest.current = act
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return () => {
    if (!isLarge) return latest.current(true)
    latest.current(false)
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current(true)
    }, MANY_MS)
  }
}

/** The stream has times as texts. */
function dated(why: Why): Why {
  const { until } = why as { readonly until?: unknown }
  return typeof until === 'string' ? ({ ...why, until: new Date(until) } as Why) : why
}
