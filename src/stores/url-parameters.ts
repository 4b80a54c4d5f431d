// The parameters of a store URL. A parameter that no store knows is refused: ignored, a slip such as `?shcema=staging`
// would open another store than the one that was meant.
import { PawlError } from '../core/base/errors.ts'
import { nearest } from '../core/base/nearest.ts'
import { quote } from '../core/base/visible.ts'

/** The query of a URL, taken apart. Every parameter is in `known`, and occurs once with a value. */
export function parametersOf(query: string, scheme: string, known: readonly string[]): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name)) throw unknownParameter(name, scheme, known)
    if (parameters.has(name) || value === '') {
      throw refusal(`the parameter ${quote(name)} of the ${scheme}: URL must have one value.`)
    }
    parameters.set(name, value)
  }
  return parameters
}

/** Names the parameter and never its value, which may be a secret. */
export function unknownParameter(name: string, scheme: string, known: readonly string[]): PawlError {
  const problem = `a ${scheme}: URL has no parameter ${quote(name)}`
  if (known.length === 0) return refusal(`${problem}: it has none. Remove everything from '?' on.`)
  const meant = nearest(name, known)
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  return refusal(`${problem}; it has ${known.join(', ')}.${hint}`)
}

function refusal(message: string): PawlError {
  return new PawlError('STORE_URL_INVALID', message)
}
