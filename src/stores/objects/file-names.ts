// Keys as paths below a folder, and back. Different keys give different paths, none of which leaves the folder:
//
//   log/0000000001.jsonl    log/0000000001.jsonl
//   a b.json                a%20b.json
//   .hidden.json            %2Ehidden.json
//
// `a` and `a/b` may both be objects, so files and folders must differ by their names: a file has a full stop in it and a
// folder has none. What is not so by itself gets a mark that no name has otherwise, `.+` for a file and `+` for a folder.
// A segment too long for a file name goes on in a folder marked by a comma. File systems that take `A` and `a` for the
// same are not provided for.

/** File systems allow 255 bytes. */
const NAME_LENGTH_MAX = 200

const PLAIN = /[A-Za-z0-9_=@.-]/
const ALL_PLAIN = /^[A-Za-z0-9_=@-][A-Za-z0-9_=@.-]*$/

/** The names of the folders on the way, and then that of the file. */
export function pathOf(key: string): string[] {
  const names: string[] = []
  const segments = key.split('/').map(encoded)
  segments.forEach((segment, index) => {
    let rest = segment
    for (; rest.length > NAME_LENGTH_MAX; rest = rest.slice(NAME_LENGTH_MAX)) {
      names.push(`${rest.slice(0, NAME_LENGTH_MAX)},`)
    }
    names.push(index < segments.length - 1 ? folder(rest) : file(rest))
  })
  return names
}

/** The key of a file, from the names on the way to it; `undefined` for a file that is not one of ours. */
export function keyOf(names: readonly string[]): string | undefined {
  const key = decoded(textOf(names.slice(0, -1)) + (names.at(-1) ?? '').replace(/\.\+$/, ''))
  return key !== undefined && pathOf(key).join('/') === names.join('/') ? key : undefined
}

/** What the keys in this folder begin with, as far as that is whole characters. */
export function prefixOf(names: readonly string[]): string {
  const whole = names.findLastIndex((name) => !name.endsWith(',')) + 1
  return decoded(textOf(names.slice(0, whole))) ?? ''
}

/** The folders that all keys with this prefix are in. */
export function foldersOf(prefix: string): string[] {
  const end = prefix.lastIndexOf('/') + 1
  return end === 0 ? [] : pathOf(`${prefix.slice(0, end)}-`).slice(0, -1)
}

export function isFolder(name: string): boolean {
  return !name.includes('.') || name.endsWith(',') || (name.endsWith('+') && !name.endsWith('.+'))
}

function folder(name: string): string {
  return name === '' || name.includes('.') ? `${name}+` : name
}

function file(name: string): string {
  return name.includes('.') ? name : `${name}.+`
}

/** The beginning of a key, from the names of folders. */
function textOf(folders: readonly string[]): string {
  return folders
    .map((name) => (name.endsWith(',') ? name.slice(0, -1) : `${name.replace(/\+$/, '')}/`))
    .join('')
}

function encoded(segment: string): string {
  if (ALL_PLAIN.test(segment)) return segment
  let text = ''
  for (const byte of Buffer.from(segment)) {
    const char = String.fromCharCode(byte)
    // A name that begins with a dot is hidden, or means a folder.
    const plain = PLAIN.test(char) && !(char === '.' && text === '')
    text += plain ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
