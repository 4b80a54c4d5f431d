// The workers that use a store, as their sessions tell.
import { defined } from '../base/defined.ts'
import type { SessionSnapshot } from '../stores/store.ts'

/** A worker that uses the store. */
export interface WorkerRecord {
  readonly worker: string
  readonly queues: readonly string[]
  /** The workflows whose code it has; absent if it takes any. */
  readonly workflows?: readonly string[]
  readonly activities?: readonly string[]
  /** The build of its code. */
  readonly build?: string
  /** It pins the runs that it starts to its build. */
  readonly pin: boolean
  /** It has renewed its session in time. */
  readonly alive: boolean
  /** When its leases end unless it renews them. */
  readonly expiresAt: Date
}

/** What a worker can do, as its session says. */
export interface Abilities {
  readonly queues: readonly string[]
  /** `null` means any. */
  readonly workflows?: readonly string[] | null
  readonly activities?: readonly string[] | null
  /** The name of the worker's build. */
  readonly code?: string
  /** True if the worker takes part in roll-outs. */
  readonly pin?: boolean
}

export function abilitiesOf({ about }: Pick<SessionSnapshot, 'about'>): Abilities {
  return { queues: [], ...(JSON.parse(about) as Partial<Abilities>) }
}

export function workerOf(session: SessionSnapshot, now: number): WorkerRecord {
  const { worker, expiresAt } = session
  const { queues, workflows, activities, code, pin } = abilitiesOf(session)
  return defined({
    worker,
    queues,
    workflows: workflows ?? undefined,
    activities: activities ?? undefined,
    build: code,
    pin: pin === true,
    alive: expiresAt > now,
    expiresAt: new Date(expiresAt),
  })
}
