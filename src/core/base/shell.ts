// Shell commands that pawl suggests. Arguments are quoted, so that a POSIX shell passes on any name or id unchanged.
import { isActive } from './visible.ts'

export interface Suggested {
  readonly options?: Readonly<Record<string, string>>
  /** A part for the reader to replace, such as `'<payload as JSON>'`. It is appended without quoting. */
  readonly placeholder?: string
}

/** `pawl signal 01a1… 'a name'`: options first, then the arguments, after `--` if one looks like an option. */
export function pawlCommand(
  verb: string,
  args: readonly string[],
  { options = {}, placeholder }: Suggested = {},
): string {
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, shellWord(value)])
  const end = args.some((each) => each.startsWith('-')) ? ['--'] : []
  const last = placeholder === undefined ? [] : [placeholder]
  return ['pawl', verb, ...words, ...end, ...args.map(shellWord), ...last].join(' ')
}

/** One argument. Active characters become octal escapes, which `printf` turns back into bytes. */
export function shellWord(text: string): string {
  if (isActive(text)) return `"$(printf '${octal(text)}')"`
  if (/^[A-Za-z0-9_./:@,+-][A-Za-z0-9_./:@,+=-]*$/.test(text)) return text
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function octal(text: string): string {
  const bytes = [...Buffer.from(text)]
  return bytes
    .map((byte) => {
      const character = String.fromCharCode(byte)
      if (/[A-Za-z0-9_./:@,+= ]/.test(character)) return character
      return `\\${byte.toString(8).padStart(3, '0')}`
    })
    .join('')
}
