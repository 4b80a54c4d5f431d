// Where things are in the bucket. Numbers are padded, so that keys sort as numbers do.
import { deriveUuid } from '../../core/base/digest.ts'

const DIGITS = 12

/** Says to people what this is, and to pawl that the bucket was found suitable. */
export const ABOUT = 'pawl.json'
export const LOG = 'log/'
export const SNAPSHOTS = 'snapshots/'
export const PARTS = 'parts/'
export const ENDED = 'ended/'
export const RUNS = 'runs/'
export const NAMES = 'names/'

export function logKey(n: number): string {
  return `${LOG}${padded(n)}.jsonl`
}

export function snapshotKey(n: number): string {
  return `${SNAPSHOTS}${padded(n)}.jsonl`
}

export function partKey(n: number, index: number, writer: string): string {
  return `${PARTS}${padded(n)}-${writer}-${index}.jsonl`
}

/** The number in a key of the log or of a snapshot. */
export function numberIn(key: string): number {
  return Number(/(\d+)\.jsonl$/.exec(key)?.[1] ?? Number.NaN)
}

export function segmentKey(from: number, to: number, writer: string): string {
  return `${ENDED}${padded(from)}-${padded(to)}-${writer}.jsonl`
}

export function runKey(runId: string, rest: string): string {
  return `${RUNS}${keySegment(runId)}/${rest}`
}

export function stepKey(runId: string, step: string): string {
  return runKey(runId, `steps/${keySegment(step)}.json`)
}

export function nameKey(workflowId: string): string {
  return `${NAMES}${keySegment(workflowId)}.json`
}

const LENGTH_MAX = 200

/**
 * Any text as one segment of a key: different texts give different segments, and none can leave its folder. What
 * would be too long ends in a digest, after a character that nothing else here produces. The escape is a full stop,
 * because what is escaped with % gets lost in URLs.
 */
export function keySegment(text: string): string {
  const safe = [...Buffer.from(text, 'utf8')].map(encoded).join('') || '~'
  return safe.length <= LENGTH_MAX ? safe : `${safe.slice(0, LENGTH_MAX / 2)}~${deriveUuid(text)}`
}

function encoded(byte: number): string {
  const character = String.fromCharCode(byte)
  if (/[A-Za-z0-9_-]/.test(character)) return character
  return `.${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

function padded(n: number): string {
  return String(n).padStart(DIGITS, '0')
}
