// Finds repeated fields in JSON, which JSON.parse accepts silently. In a definition one of them is a mistake.
import { limits } from '../../core/base/limits.ts'

/** The first field that appears twice in an object. The text must be valid JSON. */
export function repeatedKey(text: string): { key: string; offset: number } | undefined {
  const open: (Set<string> | undefined)[] = []
  let at = 0
  // Only a string right after `{`, or after `,` inside an object, is a key.
  let isKey = false
  while (at < text.length) {
    const character = text[at]
    if (character === '"') {
      const end = endOfText(text, at)
      const keys = open.at(-1)
      if (isKey && keys !== undefined) {
        const key = text.slice(at, end)
        const name = JSON.parse(key) as string
        if (keys.has(name)) return { key: key.slice(0, 60), offset: at }
        keys.add(name)
      }
      isKey = false
      at = end
      continue
    }
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(undefined)
    else if (character === '}' || character === ']') open.pop()
    if (character === '{' || character === ',') isKey = true
    // The caller rejects the value for its depth.
    if (open.length > limits.graphDepthMax) return undefined
    at++
  }
  return undefined
}

function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
