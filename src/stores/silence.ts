// When a session counts as silent: the rule of `SeenClock`, and when a claimer should look again.
import type { Instant } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import type { SeenClock } from './store.ts'

export interface Expiring {
  readonly expiresAt: Instant
  readonly ttlMs?: number
}

export function isSilent(session: Expiring, now: Instant, clock: SeenClock): boolean {
  const { expiresAt, ttlMs = limits.leaseMs } = session
  if (clock.steadyMs < ttlMs * limits.leaseSelfStopShare) return false
  if (expiresAt <= Math.min(now, clock.now)) return true
  return isFromAnotherTime(expiresAt, ttlMs, now) && now >= clock.now - limits.clockStepMs
}

/** When this claimer may find the session silent, if it is not renewed before. */
export function silentAt(session: Expiring, now: Instant, { steadyMs }: SeenClock): Instant {
  const { expiresAt, ttlMs = limits.leaseMs } = session
  const trusted = now + Math.max(0, Math.ceil(ttlMs * limits.leaseSelfStopShare) - steadyMs)
  const expired = isFromAnotherTime(expiresAt, ttlMs, now) ? now : expiresAt
  return Math.max(expired, trusted, now + limits.silenceLookMs)
}

/** No renewal on a clock like today's says so: the clock was set back since. */
function isFromAnotherTime(expiresAt: Instant, ttlMs: number, now: Instant): boolean {
  return expiresAt > now + ttlMs + limits.clockStepMs
}
