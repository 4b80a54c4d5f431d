// Which runs are for who asks, as parameters of statements.
import type { ClaimRequest } from '../store.ts'

export interface Mine {
  /** Builds, as JSON. */
  readonly builds: string
  /** The least and the greatest last digits of the ids of runs that are pinned to nothing. */
  readonly first: string
  readonly last: string
}

export function mineOf({ pins, build }: ClaimRequest): Mine {
  const builds = JSON.stringify(pins?.builds ?? [build])
  if (!pins) return { builds, first: '0000', last: 'ffff' }
  // Greater than all digits: between it and anything less is nothing.
  if (pins.from >= pins.to) return { builds, first: 'g', last: '' }
  return { builds, first: digits(pins.from), last: digits(pins.to - 1) }
}

// As text they sort as they do as numbers.
function digits(share: number): string {
  return share.toString(16).padStart(4, '0')
}
