import type { ReactNode } from 'react'
import { clock, duration } from '../data/format.ts'
import { useNow } from '../data/now.ts'
import { useSettings } from '../data/settings.ts'

/** A time: the clock of today, the date before that; the title has all of it. */
export function Time({ at }: { readonly at: Date }): ReactNode {
  const { utc } = useSettings()
  const now = useNow()
  return (
    <time dateTime={at.toISOString()} title={`${at.toISOString()}, ${duration(now - at.getTime())} ago`}>
      {clock(at, { utc, now })}
    </time>
  )
}

/** How long ago, or how long until; it ticks. */
export function Ticking({ from, to }: { readonly from: Date; readonly to?: Date | undefined }): ReactNode {
  const now = useNow()
  return duration(Math.max(0, (to?.getTime() ?? now) - from.getTime()))
}

export function Countdown({ until }: { readonly until: Date }): ReactNode {
  const now = useNow()
  const left = until.getTime() - now
  return left > 0 ? `in ${duration(left)}` : `${duration(-left)} ago`
}
