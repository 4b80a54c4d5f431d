// The options of a definition that are schemas.

import { checkOptions, type Description, given } from '../base/described.ts'
import { type AnySchema, checking, type KnownSchemas } from './schema.ts'

const schemaOptions = {
  input: given<AnySchema>('The schema of the input.', 'a schema'),
  output: given<AnySchema>('The schema of the output.', 'a schema'),
} as const

/** Separates the schemas from the other options of a definition. */
export function schemasIn<Options extends object>(
  definition: Options & { readonly input?: AnySchema; readonly output?: AnySchema },
  of: string,
  description: Description,
): { readonly options: Omit<Options, 'input' | 'output'>; readonly schemas: KnownSchemas } {
  checkOptions({ ...schemaOptions, ...description }, definition, {
    of,
    code: 'DEFINITION_INVALID',
  })
  const { input, output, ...options } = definition
  const schemas = {
    ...checking('input', input, `the input of ${of}`),
    ...checking('output', output, `the output of ${of}`),
  }
  return { options, schemas }
}
