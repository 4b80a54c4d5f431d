// Waits for a file that another process is writing. SQLite's own wait would block the process, with its timers and
// renewals, so it is switched off, and the process sleeps instead. The pauses grow to a bound and are random, so that
// no waiting process is always the last.
import { limits } from '../../core/base/limits.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import { systemRandom } from '../../core/runtime/random.ts'

/** True if the error only says that another connection has locked the file. */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number } | null)?.errcode
  return code !== undefined && (code & 0xff) === 5
}

export interface LockWait {
  readonly clock: Clock
  readonly file: string
  readonly patienceMs?: number
  /** Awaited before each try: a transaction of this process has the file until it resolves. */
  readonly ready?: () => Promise<void> | undefined
}

/** Repeats `attempt` while the file is locked. An attempt that finds it locked must have changed nothing. */
export async function whenFree<T>(attempt: () => T, wait: LockWait): Promise<T> {
  const { clock, file, ready, patienceMs = limits.sqliteBusyMsMax } = wait
  const begun = clock.monotonic()
  for (let pause = 1; ; pause = Math.min(pause * 2, limits.sqlitePauseMsMax)) {
    const held = ready?.()
    if (held) await held
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw error
      const waited = clock.monotonic() - begun
      if (waited >= patienceMs) throw lockedOut(file, waited, error)
      await sleep(clock, pause * (0.5 + systemRandom.fraction()))
    }
  }
}

function lockedOut(file: string, waitedMs: number, cause: unknown): Error {
  const told = new Error(
    `another process has kept the file locked for ${Math.round(waitedMs)} ms. ` +
      'End what holds it, for example an open transaction in a SQLite shell',
    { cause },
  )
  return unavailable(`SQLite file ${file}`, told)
}
