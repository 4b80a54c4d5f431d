// Which items of a stream stand: a part keeps so many of those before, and makes the others void.
import type { StreamPart } from './streams.ts'

/** Which items no later part has made void: asked in the order of their offsets, once all parts are known. */
export function validity(parts: readonly StreamPart[]): (part: number) => boolean {
  const places = parts.map(({ keep }) => keep)
  const ends = parts.map(() => Number.POSITIVE_INFINITY)
  const least = new Map<string, number>()
  for (const { number, keep, step = '', chapter } of parts.toReversed()) {
    const writer = `${chapter} ${step}`
    ends[number] = least.get(writer) ?? Number.POSITIVE_INFINITY
    least.set(writer, Math.min(ends[number], keep))
  }
  return (number) => {
    const place = places[number] ?? 0
    places[number] = place + 1
    return place < (ends[number] ?? 0)
  }
}
