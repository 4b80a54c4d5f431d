// The claim order: which of the rows that are due a claim grants first.
//
// 1. Higher priorities first.
// 2. Among equals, one queue and name after another. The claim's nonce decides their order, so that it is another one
//    each time and a long line of one name never starves the others.
// 3. Within a queue and name, the row that has been due longest; runs that another build paused come last. Rows that
//    became due in the same instant have no order.
//
// The first two rules are here twice, for JavaScript and for SQL: both must stay the same, which the differential test
// of the stores checks.
import { hash } from 'node:crypto'

/** A prime for which cubing is one-to-one: two names come first equally often, whatever their numbers are. */
const PLACES = 8_388_593
const KNOWN_MAX = 10_000

const numbers = new Map<string, number>()

/** The place of a queue and name among those of their priority, for a claim with this nonce. */
export function placeOf(queue: string, name: string, nonce: number): number {
  const place = (numberOf(queue, name) + nonce) % PLACES
  return (((place * place) % PLACES) * place) % PLACES
}

/** Where the rows of a queue, name and priority come in one claim. */
export interface Rank {
  readonly priority: number
  readonly place: number
}

export function rankOf(
  { queue, name, priority }: { readonly queue: string; readonly name: string; readonly priority: number },
  nonce: number,
): Rank {
  return { priority, place: placeOf(queue, name, nonce) }
}

export function compareRanks(a: Rank, b: Rank): number {
  return b.priority - a.priority || a.place - b.place
}

/** The order of `compareRanks` in Postgres, over columns; the nonce is a number or parameter of type int8. */
export function rankInSql(nonce: string): string {
  const digest = `sha256(convert_to(queue || E'\\n' || name, 'UTF8'))`
  const number = `get_byte(${digest}, 0) * 65536 + get_byte(${digest}, 1) * 256 + get_byte(${digest}, 2)`
  const place = `((${number} + ${nonce}) % ${PLACES})`
  return `priority desc, (${place} * ${place} % ${PLACES} * ${place} % ${PLACES})`
}

function numberOf(queue: string, name: string): number {
  const key = `${queue}\n${name}`
  const known = numbers.get(key)
  if (known !== undefined) return known
  const number = Number.parseInt(hash('sha256', key).slice(0, 6), 16)
  if (numbers.size >= KNOWN_MAX) numbers.clear()
  numbers.set(key, number)
  return number
}
