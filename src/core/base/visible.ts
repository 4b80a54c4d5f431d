// Text from users, made safe for terminals and logs. A character that a terminal obeys, or that reorders the text
// around it, is shown as its escape: a name such as 'x<U+009B>31m' must not change colours or move the cursor.

/**
 * Control characters (C0, DEL, C1), marks and overrides of the writing direction, line and paragraph separators, and
 * deprecated format characters.
 */
const ACTIVE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u206a-\u206f\ufff9-\ufffb]/u
const EACH_ACTIVE = new RegExp(ACTIVE, 'gu')
const EACH_ACTIVE_IN_LINES = new RegExp(`(?![\\n\\t])${ACTIVE.source}`, 'gu')
/** Without C0, which JSON escapes already; the newlines that end its lines must stay. */
const EACH_ACTIVE_IN_JSON = new RegExp(`(?![\\0-\\x1f])${ACTIVE.source}`, 'gu')

export function isActive(text: string): boolean {
  return ACTIVE.test(text)
}

/** One line: every active character as `\uXXXX`. */
export function visible(text: string): string {
  return text.replace(EACH_ACTIVE, escaped)
}

/** Several lines: newlines and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(EACH_ACTIVE_IN_LINES, escaped)
}

/** Equivalent JSON that is safe to print. */
export function visibleJson(json: string): string {
  return json.replace(EACH_ACTIVE_IN_JSON, escaped)
}

/** A name as messages show it: in quotes, shortened, with active characters escaped. */
export function quote(text: string): string {
  const shown = text.length > quoteLengthMax ? `${text.slice(0, quoteLengthMax)}…` : text
  const json = visibleJson(JSON.stringify(shown.toWellFormed()))
  return `'${json.slice(1, -1).replaceAll('\\"', '"')}'`
}

const quoteLengthMax = 60

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
