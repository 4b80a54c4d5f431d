// How the workflow of a run was written, which its history tells.
import { useQuery } from '@tanstack/react-query'
import type { RunRecord, StepRecord } from 'pawl/client'
import { client } from '../../data/client.ts'
import { useGeneration } from './history.tsx'

export type Style = 'function' | 'graph' | 'machine'

/** A machine moves when it starts, so its first events tell. */
const BEGINNING = 100

export function useStyle(run: RunRecord, steps: readonly StepRecord[] | undefined): Style | undefined {
  const generation = useGeneration(run)
  const isGraph = steps?.some(({ after }) => after !== undefined)
  const { data } = useQuery({
    queryKey: ['run', run.runId, 'isMachine', generation],
    queryFn: async () => {
      const asked = { run: run.runId, generation, type: 'StateMoved', before: BEGINNING, limit: 1, payloads: false }
      return (await client().call('runs.history', asked)).events.length > 0
    },
    enabled: isGraph === false,
  })
  if (isGraph === undefined) return undefined
  if (isGraph) return 'graph'
  return data === undefined ? undefined : data ? 'machine' : 'function'
}
