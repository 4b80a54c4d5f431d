// What a tool answers: plain JSON, in which long values of users are cut, so that one payload cannot fill the context of a
// model.
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { plain } from '../operations/wire.ts'

/** Fields that hold values of users. */
const VALUES: ReadonlySet<string> = new Set([
  ...['input', 'output', 'result', 'payload', 'state', 'memo', 'attributes', 'details', 'document'],
])

export function answerText(answer: unknown): string {
  const json: unknown = JSON.parse(JSON.stringify(answer, plain) ?? 'null')
  const text = JSON.stringify(json, (field, value: unknown) => {
    if (typeof value === 'string') return cut(value, 'characters')
    if (isTokenMade(value)) return { ...value, token: '' }
    if (!VALUES.has(field) || typeof value !== 'object') return value
    const whole = JSON.stringify(value)
    return whole.length > limits.toolValueLengthMax ? cut(whole, 'characters of JSON') : value
  })
  if (text.length <= limits.toolAnswerLengthMax) return text
  const problem = `the answer has ${text.length} characters; expected at most ${limits.toolAnswerLengthMax}`
  throw new PawlError('INPUT_INVALID', `${problem}. Ask for less: a smaller \`limit\`, or a narrower filter.`)
}

/** Whoever has the token of a webhook can settle it, which no tool does. */
function isTokenMade(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'TokenMade'
}

function cut(text: string, unit: string): string {
  const most = limits.toolValueLengthMax
  if (text.length <= most) return text
  return `${text.slice(0, most).toWellFormed()}… (cut: ${text.length} ${unit} in all)`
}
