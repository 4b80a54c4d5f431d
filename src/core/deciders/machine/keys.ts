// Under which keys the activities, children and timers of a machine are recorded: `activity:model#1`, `child:report[may]#1`,
// `timer:deadline#3`. The number counts the uses of the name, or of the id if there is one, so that no key occurs twice.
import { escapeKey, unescapeKey } from '../../kernel/key.ts'

export interface RequestKey {
  readonly kind: 'activity' | 'child' | 'timer'
  /** Of an activity or a timer as the machine calls it, of a child as everybody does. */
  readonly name: string
  /** The one a handler gave it. */
  readonly id: string | undefined
  readonly n: number
}

const form = /^(activity|child|timer):([^/#:[\]]+)(?:\[([^/#:[\]]+)\])?#(\d+)$/

export function requestKey({ kind, name, id, n }: RequestKey): string {
  const given = id === undefined ? '' : `[${escapeKey(id)}]`
  return `${kind}:${escapeKey(name)}${given}#${n}`
}

export function parseRequestKey(key: string): RequestKey | undefined {
  const [, kind, name, id, n] = form.exec(key) ?? []
  if (kind === undefined || name === undefined) return undefined
  return {
    kind: kind as RequestKey['kind'],
    name: unescapeKey(name),
    id: id === undefined ? undefined : unescapeKey(id),
    n: Number(n),
  }
}

/** What handlers know it by. */
export function idOf({ name, id, n }: RequestKey): string {
  return id ?? `${name}#${n}`
}
