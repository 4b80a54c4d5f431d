// Commands that are suggested to people: quoted so that a POSIX shell passes on every argument as it is, whatever was
// chosen as a name.
import { isActive } from './visible.ts'

/** Options as `--name` and value pairs; arguments come last, behind `--` where one of them looks like an option. */
export interface Suggested {
  readonly options?: Readonly<Record<string, string>>
  /** Appended as it is: a part that the reader replaces, such as `'<payload as JSON>'`. */
  readonly placeholder?: string
}

/** `pawl signal 01a1… 'a name'`. */
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

/** One argument. What a terminal would obey is written as octal digits, for `printf` to turn back into bytes. */
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
