// From text to a value. What begins like JSON is JSON, unless only YAML can read it; everything else is YAML.
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
    return parseYaml(text, problems, `not JSON (${why.slice(0, 120)}), and `)
  }
  const repeated = repeatedKey(text)
  if (repeated !== undefined) {
    const { line, column } = positionIn(text, repeated.offset)
    const message = `the field ${repeated.key} is there a second time on line ${line}, column ${column}: leave one of them out`
    problems.add([], 'SYNTAX', message)
    problems.refuse()
  }
  return value
}
