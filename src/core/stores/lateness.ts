// When a session has missed a renewal: the rule of `LateSession`.

import type { Instant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import { NEVER } from './never.ts'

interface Renewed {
  readonly expiresAt: Instant
  /** Rows of older releases lack it. */
  readonly ttlMs?: number
}

export function isLate(session: Renewed, now: Instant): boolean {
  return lateAt(session, now) <= now
}

/** When the session will have missed a renewal, unless it is renewed before. */
export function lateAt({ expiresAt, ttlMs = limits.leaseMs }: Renewed, now: Instant): Instant {
  // No renewal by today's clock lasts so long: the clock was set back since.
  if (expiresAt > now + ttlMs + limits.clockStepMs) return now
  const renewedAt = expiresAt - ttlMs
  const latenessMs = Math.min(ttlMs / 12, limits.renewalLateMsMax)
  return Math.min(NEVER, Math.ceil(renewedAt + ttlMs / limits.leaseRenewalsPerLife + latenessMs))
}
