// Asks on the terminal before something is done to many runs.
import { createInterface } from 'node:readline/promises'
import { PawlError } from '../core/base/errors.ts'

/** From so many runs on, their number is typed instead of `yes`. */
const TYPED_FROM = 100

export function cannotAsk(why: string): PawlError {
  const problem = `${why}, and there is no terminal to ask on`
  return new PawlError('INPUT_INVALID', `${problem}. Add --yes to do it, or --dry-run to only look.`)
}

export async function isConfirmed(runs: number): Promise<boolean> {
  const expected = runs > TYPED_FROM ? String(runs) : 'yes'
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`Type ${expected} to go on: `).finally(() => terminal.close())
  return answer.trim() === expected
}
