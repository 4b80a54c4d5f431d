// Parses the text of a document: JSON if it begins like JSON and parses as JSON, else YAML.

import { limits } from '../../core/base/limits.ts'
import type { Problems } from './problems.ts'
import { parseYaml, positionIn } from './yaml.ts'

export function parseText(text: string, problems: Problems): unknown {
  if (!/^\s*[{[]/.test(text)) return parseYaml(text, problems, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : String(error)
    return parseYaml(text, problems, `neither JSON (${why.slice(0, 120)}) nor YAML: `)
  }
  const repeated = repeatedKey(text)
  if (repeated !== undefined) {
    const { line, column } = positionIn(text, repeated.offset)
    const message = `the field ${repeated.key} appears a second time on line ${line}, column ${column}: remove one of them`
    problems.add([], 'SYNTAX', message)
    problems.refuse()
  }
  return value
}

// Finds repeated fields in JSON, which JSON.parse accepts silently. In a definition one of them is a mistake.

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
