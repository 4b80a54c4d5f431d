// A wall clock that a test can set, for processes with its environment: libfaketime reads the offset of the clock from
// a file each time a process reads the time. The monotonic clock does not change.

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Long enough to download and install the package. */
export const faketimeInstallMsMax = 120_000

const script = fileURLToPath(new URL('../../scripts/faketime.sh', import.meta.url))
const FILE = 'FAKETIME_TIMESTAMP_FILE'

export class SettableClock {
  readonly #file: string

  /** The clock of this process, from its environment. */
  static own(): SettableClock | undefined {
    const file = process.env[FILE]
    return file === undefined ? undefined : new SettableClock(file)
  }

  constructor(file: string) {
    this.#file = file
  }

  /** Sets the offset of the clock. Replaces the file atomically, so that a reader never sees half of it. */
  set(offsetMs: number): void {
    const sign = offsetMs < 0 ? '-' : '+'
    writeFileSync(`${this.#file}.new`, `${sign}${Math.abs(offsetMs) / 1_000}s\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

export interface FakedTime {
  readonly clock: SettableClock
  /** The environment for processes with this clock. */
  readonly environment: Readonly<Record<string, string>>
  readonly remove: () => void
}

export async function fakeTime(): Promise<FakedTime> {
  const { stdout } = await promisify(execFile)(script)
  // Servers run as another user, and must be able to read the file.
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
