// The structure of keys: scopes, then kind, name and occurrence, as in `scope:refund#1/activity:pay#2`. Names are escaped,
// so that what looks like structure is.

/** The segment of a scope that goes on when what surrounds it is cancelled. */
export const SHIELD = 'shield'

const shielded = new RegExp(`(^|/)${SHIELD}#\\d+/`)

/** Whether the cancellation of the run passes by this key. */
export function isShielded(key: string): boolean {
  return key.includes(SHIELD) && shielded.test(key)
}

/** Under which a run records what the schema of its workflow made of its input. No call of `ctx` has this kind. */
export const INPUT_KEY = 'schema:input#1'

// A key's structure is made of these characters, so a name must not contain them as they are.
const structural = /[%/#:[\]]/g

export function escapeKey(name: string): string {
  if (name.search(structural) < 0) return name
  return name.replace(structural, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** A name as it was before it became part of a key. */
export function unescapeKey(escaped: string): string {
  return escaped.replace(/%([0-9A-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
