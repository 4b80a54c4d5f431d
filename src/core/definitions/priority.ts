// Checks of priorities. Of the runs and tasks that are due, those with a higher priority are claimed first.
import { PawlError } from '../base/errors.ts'

export function checkPriority(priority: number): number {
  if (Number.isInteger(priority) && Math.abs(priority) <= 1_000) return priority
  throw new PawlError('INPUT_INVALID', `priority is ${String(priority)}; expected a whole number from -1000 to 1000.`)
}
