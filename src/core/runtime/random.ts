// Randomness as a parameter. Production uses the system's, in Node and in browsers; tests pass a seeded one.
import type { Clock } from './clock.ts'

export interface Random {
  /** A number in [0, 1). */
  fraction(): number
  /** A whole number in [1, 2^48). */
  integer(): number
}

// Numbers are drawn from the system in bulk, because drawing one costs more than the turn it is for.
const pool = new Uint32Array(1024)
let unused = 0

function draw(): number {
  if (unused === 0) {
    crypto.getRandomValues(pool)
    unused = pool.length
  }
  return pool[--unused] ?? 0
}

export const systemRandom: Random = {
  fraction: () => draw() / 2 ** 32,
  integer: () => (draw() & 0xffff) * 2 ** 32 + draw() || 1,
}

/** A UUID of version 7: sorted by time, and random enough for an id, but not for a secret. */
export function uuidV7(clock: Clock, random: Random): string {
  const time = Math.floor(clock.now()).toString(16).padStart(12, '0')
  const high = random.integer().toString(16).padStart(12, '0')
  const low = random.integer().toString(16).padStart(12, '0')
  const variant = (8 + (Number.parseInt(high.slice(3, 4), 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high.slice(0, 3)}-${variant}${high.slice(4, 7)}-${low}`
}

/** A secret of 144 random bits, as hexadecimal digits. */
export function secret(random: Random): string {
  return Array.from({ length: 3 }, () => random.integer().toString(16).padStart(12, '0')).join('')
}

/** Cryptographically random bytes. */
export function secretBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count))
}
