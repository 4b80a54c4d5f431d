// A wall clock that a test can set, for the processes that get its environment: libfaketime reads how far the clock is
// off from a file each time somebody asks for the time. The monotonic clock stays as it is.

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Long enough for the package to be downloaded and installed. */
export const faketimeInstallMsMax = 120_000

const script = fileURLToPath(new URL('../../scripts/faketime.sh', import.meta.url))
const FILE = 'FAKETIME_TIMESTAMP_FILE'

export class SettableClock {
  readonly #file: string

  /** The clock that this process itself has, as its environment says. */
  static own(): SettableClock | undefined {
    const file = process.env[FILE]
    return file === undefined ? undefined : new SettableClock(file)
  }

  constructor(file: string) {
    this.#file = file
  }

  /** How far the clock is off from now on. Whole, whenever somebody reads it. */
  set(offsetMs: number): void {
    const sign = offsetMs < 0 ? '-' : '+'
    writeFileSync(`${this.#file}.new`, `${sign}${Math.abs(offsetMs) / 1_000}s\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

export interface FakedTime {
  readonly clock: SettableClock
  /** For processes that shall have this clock. */
  readonly environment: Readonly<Record<string, string>>
  readonly remove: () => void
}

export async function fakeTime(): Promise<FakedTime> {
  const { stdout } = await promisify(execFile)(script)
  // Servers run as another user, and must be able to read it.
  const folder = mkdtempSync(join(tmpdir(), 'pawl-clock-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'offset')
  const clock = new SettableClock(file)
  clock.set(0)
  return {
    clock,
    environment: {
      LD_PRELOAD: stdout.trim(),
      [FILE]: file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
