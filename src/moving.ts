// Moves whole runs from one store to another.

import { type MoveReport, Mover } from './addons/moving/mover.ts'
import { placeOf } from './addons/moving/place.ts'
import type { MovePorts, Side } from './addons/moving/ports.ts'
import { checkOptions, type Described, duration, flag, fn, nested, required, text } from './core/base/described.ts'
import { digest } from './core/base/digest.ts'
import { PawlError } from './core/base/errors.ts'
import { limits } from './core/base/limits.ts'
import { milliseconds } from './core/base/time.ts'
import { queryOf, runFilter } from './core/index.ts'
import { persist } from './core/runtime/availability.ts'
import { systemClock } from './core/runtime/clock.ts'
import { consoleLogger } from './core/runtime/logger.ts'
import { systemRandom } from './core/runtime/random.ts'
import type { Store } from './core/stores/driver.ts'
import { openPatiently, type StoreOptions } from './stores/open.ts'

export const moveOptions = {
  /** The URL of the store that has the runs. */
  from: required(text('The URL of the store that has the runs.')),
  /** The URL of the store in which they go on. */
  to: required(text('The URL of the store in which they go on.')),
  /** Move only these runs, and those that depend on them. All runs when absent. */
  runs: nested('Move only these runs, and those that depend on them. All runs when absent.', runFilter),
  /** Only count the runs. */
  dryRun: flag('Only count the runs.'),
  /** End an interrupted move instead: runs that have not left go on where they are. */
  abort: flag('End an interrupted move instead: runs that have not left go on where they are.'),
  /** How long to wait for a worker that holds a run. Default `1m`. */
  patience: duration('How long to wait for a worker that holds a run.', { otherwise: "'1m'" }),
  /** Called with the number of runs moved so far. */
  onProgress: fn<(moved: number) => void>('Called with the number of runs moved so far.'),
  /** Where s3 stores get their credentials. */
  credentials: fn<NonNullable<StoreOptions['credentials']>>('Where s3 stores get their credentials.', {
    otherwise: 'from the environment, then from the profile file',
  }),
} as const
/** What to move, and between which stores. */
export interface MoveOptions extends Described<typeof moveOptions> {}

/**
 * Moves whole runs to another store, also runs in progress: they go on there, once, and never again in the old place.
 * Call it again if it was interrupted: it continues.
 */
export async function moveRuns(options: MoveOptions): Promise<MoveReport> {
  checkOptions(moveOptions, options, { of: 'moveRuns' })
  const { from, to, credentials } = options
  const places = { from: placeOf(from), to: placeOf(to) }
  if (places.from === places.to)
    throw new PawlError('INPUT_INVALID', `both stores are ${places.to}. Name two different stores.`)
  const ports = { clock: systemClock, random: systemRandom, logger: consoleLogger }
  const opened = { ...(credentials && { credentials }) }
  const source = await openPatiently(from, ports, opened)
  try {
    const target = await openPatiently(to, ports, opened)
    try {
      return await moveBetween({ store: source, place: places.from }, { store: target, place: places.to }, options)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** A store, and how it is named. @internal */
export interface Place {
  readonly store: Store
  readonly place: string
}

/** Moves runs between stores that are open. @internal */
export function moveBetween(
  from: Place,
  to: Place,
  { runs, dryRun, abort, patience, onProgress }: Omit<MoveOptions, 'from' | 'to' | 'credentials'> = {},
  world: Pick<MovePorts, 'clock' | 'random'> = { clock: systemClock, random: systemRandom },
): Promise<MoveReport> {
  const side = ({ store, place }: Place): Side => ({
    place,
    send: (call) => persist(() => call(store), { ...world, patienceMs: limits.storePatienceMs }),
  })
  const mover = new Mover(
    {
      ...{ from: side(from), to: side(to), move: numberOf(from.place, to.place), ...world },
      patienceMs: patience === undefined ? limits.movePatienceMs : milliseconds(patience, 'patience'),
    },
    onProgress,
  )
  const query = runs ? queryOf(runs) : {}
  if (dryRun) return mover.try(query)
  return abort ? mover.abort(query) : mover.move(query)
}

/** The same two places have the same number, so that a move continues without any note of it. */
function numberOf(from: string, to: string): number {
  return Number.parseInt(digest(JSON.stringify([from, to])).slice(0, 13), 16)
}
