// Translates keys to paths below a folder, and back. Different keys give different paths, and no path leaves the
// folder:
//
//   log/0000000001.jsonl    log/0000000001.jsonl
//   a b.json                a%20b.json
//   .hidden.json            %2Ehidden.json
//
// `a` and `a/b` may both be objects, so files and folders must have different names: the name of a file has a full
// stop, and that of a folder has none. Where a segment does not fit this rule, a mark is added that no other name has:
// `.+` for a file, `+` for a folder. A segment too long for a file name continues in a folder whose name ends with a
// comma. File systems that ignore case are not supported.

/** File systems allow 255 bytes. */
const NAME_LENGTH_MAX = 200

const PLAIN = /[A-Za-z0-9_=@.-]/
const ALL_PLAIN = /^[A-Za-z0-9_=@-][A-Za-z0-9_=@.-]*$/

/** Returns the path of a key: the names of its folders, then that of the file. */
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

/** Returns the key of a file from the names of its path; `undefined` for a file that pawl has not written. */
export function keyOf(names: readonly string[]): string | undefined {
  const key = decoded(textOf(names.slice(0, -1)) + (names.at(-1) ?? '').replace(/\.\+$/, ''))
  return key !== undefined && pathOf(key).join('/') === names.join('/') ? key : undefined
}

/** Returns the prefix of all keys in this folder, as far as it consists of whole segments. */
export function prefixOf(names: readonly string[]): string {
  const whole = names.findLastIndex((name) => !name.endsWith(',')) + 1
  return decoded(textOf(names.slice(0, whole))) ?? ''
}

/** Returns the path of the folder that contains all keys with this prefix. */
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

/** Returns the encoded beginning of a key from the names of its folders. */
function textOf(folders: readonly string[]): string {
  return folders.map((name) => (name.endsWith(',') ? name.slice(0, -1) : `${name.replace(/\+$/, '')}/`)).join('')
}

function encoded(segment: string): string {
  if (ALL_PLAIN.test(segment)) return segment
  let text = ''
  for (const byte of Buffer.from(segment)) {
    const char = String.fromCharCode(byte)
    // A leading full stop would hide the file, or mean `.` or `..`.
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
