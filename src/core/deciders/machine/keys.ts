// The keys of the requests of a machine: `activity:model#1`, `child:report[may]#1`, `timer:deadline#3`. The number
// counts the uses of the name, or of the id if there is one, so that no key occurs twice.
import { escapeKey, unescapeKey } from '../../kernel/ids.ts'

export interface RequestKey {
  readonly kind: 'activity' | 'child' | 'timer'
  /** The machine's own name of an activity or timer, or the name of a child's workflow. */
  readonly name: string
  /** The id that a handler gave the request. */
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

/** The id by which handlers know the request. */
export function idOf({ name, id, n }: RequestKey): string {
  return id ?? `${name}#${n}`
}
