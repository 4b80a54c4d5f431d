// Text from users as people may see it. A character that a terminal obeys, or that reorders the text around it, is shown
// by its escape instead: a name such as 'x<U+009B>31m' must not change colours, move the cursor or hide what follows.

/**
 * Control characters (C0, DEL, C1), marks and overrides of the writing direction, line and paragraph separators, and the
 * deprecated format characters.
 */
const ACTIVE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u206a-\u206f\ufff9-\ufffb]/u
const EACH_ACTIVE = new RegExp(ACTIVE, 'gu')
const EACH_ACTIVE_IN_LINES = new RegExp(`(?![\\n\\t])${ACTIVE.source}`, 'gu')
/** JSON escapes C0 itself, and lines of it end with a newline. */
const EACH_ACTIVE_IN_JSON = new RegExp(`(?![\\0-\\x1f])${ACTIVE.source}`, 'gu')

export function isActive(text: string): boolean {
  return ACTIVE.test(text)
}

/** One line: every active character as `\uXXXX`. */
export function visible(text: string): string {
  return text.replace(EACH_ACTIVE, escaped)
}

/** The same for a text of several lines: newlines and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(EACH_ACTIVE_IN_LINES, escaped)
}

/** A JSON text that says the same, and that a terminal can show. */
export function visibleJson(json: string): string {
  return json.replace(EACH_ACTIVE_IN_JSON, escaped)
}

/** A name as a message shows it: in quotes, shortened, with nothing active in it. */
export function quote(text: string): string {
  const shown = text.length > quoteLengthMax ? `${text.slice(0, quoteLengthMax)}…` : text
  const json = visibleJson(JSON.stringify(shown.toWellFormed()))
  return `'${json.slice(1, -1).replaceAll('\\"', '"')}'`
}

const quoteLengthMax = 60

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
