// Parses the text of a document: JSON if it begins like JSON and parses as JSON, else YAML.
import { positionIn } from './position.ts'
import type { Problems } from './problems.ts'
import { repeatedKey } from './repeated-key.ts'
import { parseYaml } from './yaml.ts'

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
