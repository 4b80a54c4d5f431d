// Time zones, from the rules that Node contains. Another version of Node may have other rules, so processes must agree
// elsewhere on times that must not differ between them.

import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'

export interface Zone {
  /** How far local time is ahead of UTC, in milliseconds. */
  offsetAt(at: Instant): number
}

/**
 * Two changes of one zone are never closer together: since 1970 the closest are seven days apart. If two instants no
 * further apart have equal offsets, there is therefore no change between them.
 */
export const changeGapMs = 4 * 86_400_000

/** The zone of an IANA name, or of an offset such as +02:00. Undefined if Node does not know it. */
export function zoneOf(name: string): Zone | undefined {
  const kept = zones.get(name)
  if (kept !== undefined) return kept
  const zone = makeZone(name)
  if (zone === undefined) return undefined
  if (zones.size >= limits.zonesKept) zones.clear()
  zones.set(name, zone)
  return zone
}

/** The first instant in (from, to] whose offset differs from that of `from`; both are within `changeGapMs`. */
export function changeIn(zone: Zone, from: Instant, to: Instant): Instant | undefined {
  const offset = zone.offsetAt(from)
  if (zone.offsetAt(to) === offset) return undefined
  let same = from
  let other = to
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2)
    if (zone.offsetAt(middle) === offset) same = middle
    else other = middle
  }
  return other
}

// Cached, because creating a format takes fifty times as long as using it.
const zones = new Map<string, Zone>()

function makeZone(name: string): Zone | undefined {
  const format = formatOf(name)
  if (format === undefined) return undefined
  if (format.resolvedOptions().timeZone === 'UTC') return { offsetAt: () => 0 }
  return { offsetAt: (at) => parseOffset(format.format(at)) }
}

function formatOf(name: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Parses the end of '3/30/2025, GMT+02:00'. It may also be 'GMT' or, in old dates, 'GMT-00:44:30'. */
function parseOffset(text: string): number {
  const start = text.lastIndexOf('GMT') + 3
  if (start === text.length) return 0
  const [hours = '0', minutes = '0', seconds = '0'] = text.slice(start + 1).split(':')
  const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return text.charAt(start) === '-' ? -size : size
}
