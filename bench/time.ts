import { setTimeout } from 'node:timers/promises'

/** CLOCK_MONOTONIC in milliseconds: comparable between the processes of one Linux machine. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export const sleep = (ms: number): Promise<void> => setTimeout(ms, undefined)

/** Calls `use(index)` for every index below `count`, at most `inFlight` at a time. */
export async function pooled(count: number, inFlight: number, use: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await use(next++)
  }
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, lane))
}

/** Calls `send(first, size)` for consecutive chunks, one after another. */
export async function chunked(
  count: number,
  size: number,
  send: (first: number, size: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < count; first += size) {
    await send(first, Math.min(size, count - first))
  }
}

/** `from` up to `from + size`, mapped: what one chunk of a bulk call carries. */
export const range = <Item>(from: number, size: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => item(from + index))
