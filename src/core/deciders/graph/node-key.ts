// The keys of graph steps: `activity:charge#1`, `step:pack#1[3]`, `shield#1/undo:charge#1`. The number counts how often
// the step has begun from the start: undoing a step lets it begin once more.
import { escapeKey, SHIELD, unescapeKey } from '../../kernel/ids.ts'

export type KeyKind = 'step' | 'activity' | 'child' | 'wait' | 'delay' | 'undo'

export interface NodeKey {
  readonly kind: KeyKind
  readonly name: string
  readonly round: number
  readonly index?: number
}

const SHIELDED = `${SHIELD}#1/`
const form = /^(?:shield#1\/)?(step|activity|child|wait|delay|undo):([^/#:[\]]+)#(\d+)(?:\[(\d+)\])?$/

export function nodeKey({ kind, name, round, index }: NodeKey): string {
  const item = index === undefined ? '' : `[${index}]`
  // With this prefix, a cancellation of the run does not stop the undoing.
  return `${kind === 'undo' ? SHIELDED : ''}${kind}:${escapeKey(name)}#${round}${item}`
}

export function parseNodeKey(key: string): NodeKey | undefined {
  const [, kind, name, round, index] = form.exec(key) ?? []
  if (kind === undefined || name === undefined) return undefined
  return {
    kind: kind as KeyKind,
    name: unescapeKey(name),
    round: Number(round),
    ...(index !== undefined && { index: Number(index) }),
  }
}
