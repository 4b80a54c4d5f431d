// Checks the input of activities that describe it, as the built-in handlers do. Values that contain templates are known
// only at run time and are not checked here.
import { type Description, problemWith, unknownOption } from '../../core/base/described.ts'
import type { Json } from '../../core/base/value.ts'
import { FORBIDDEN } from './expression.ts'
import { type Field, objectAt } from './object-reader.ts'
import type { Problems } from './problems.ts'

export function checkHandlerInput(
  handler: string,
  description: Description,
  { value, path }: Field,
  problems: Problems,
): void {
  if (isTemplate(value)) return
  const given = objectAt(value, path, problems)
  if (given === undefined) return
  const place = { of: `the input of '${handler}'`, noun: 'field' }
  for (const [name, field] of Object.entries(given)) {
    // A forbidden name has been reported already.
    if (FORBIDDEN.has(name)) continue
    const known = Object.hasOwn(description, name) ? description[name] : undefined
    const at = [...path, name]
    if (!known) problems.add(at, 'UNKNOWN_FIELD', unknownOption(name, description, place))
    else if (!hasTemplate(field)) {
      const problem = problemWith(known, field, { ...place, name })
      if (problem !== undefined) problems.add(at, 'INVALID_VALUE', problem)
    }
  }
  for (const [name, { isRequired, takes }] of Object.entries(description)) {
    if (!isRequired || Object.hasOwn(given, name)) continue
    problems.add(path, 'MISSING_FIELD', `\`${name}\` is missing: it takes ${takes}`)
  }
}

function isTemplate(value: Json): boolean {
  return typeof value === 'string' && hasTemplate(value)
}

/** Also true for an invalid template, which has been reported already. */
function hasTemplate(value: Json): boolean {
  return JSON.stringify(value).includes('{{')
}
