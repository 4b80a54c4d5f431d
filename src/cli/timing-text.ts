// The timing of a schedule as text.
import type { Timing } from '../index.ts'

/** The timing on one line. */
export function timingText(timing: Timing): string {
  if ('timings' in timing) return timing.timings.map(timingText).join('; ')
  if ('cron' in timing) return `${[timing.cron].flat().join('; ')} ${timing.timeZone ?? 'UTC'}`
  const { every, offset } = timing
  return offset === undefined ? `every ${every}` : `every ${every} + ${offset}`
}
