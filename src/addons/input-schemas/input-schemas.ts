// The JSON Schemas of the inputs of workflows. Only code knows them, so workers publish them in the store: forms and other
// programs without the code can then ask for the right input. Nothing is checked with them: the schema itself does that.
import { isObject } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import type { Records } from '../../core/index.ts'

const SPACE = 'input-schemas'

/** A workflow with the schema of its input, if there is one. */
interface WithSchema {
  readonly name: string
  readonly schemas: { readonly input?: { readonly '~standard': object } }
}

/** The part of Standard Schema by which a schema describes itself as JSON Schema. */
interface Describing {
  readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => unknown }
}

/** Parameters by their names, as a stored document has them. */
type Declared = Readonly<Record<string, { readonly required?: boolean; readonly [field: string]: Json | undefined }>>

/** Writes the schemas that have changed. A worker that dies in between leaves the rest to the next one. */
export async function publishInputSchemas(records: Records, workflows: Iterable<WithSchema>): Promise<void> {
  for (const { name, schemas } of workflows) {
    const text = jsonSchemaOf(schemas.input)
    if (text === undefined) continue
    const there = await records.get<Json>(SPACE, name)
    if (there && JSON.stringify(there.value) === text) continue
    // If another worker writes at the same time, its schema is as good as this one.
    await records.put(SPACE, name, there?.version ?? 0, JSON.parse(text))
  }
}

/** The published schemas, by the names of the workflows. */
export async function inputSchemas(records: Records): Promise<ReadonlyMap<string, Json>> {
  const found = new Map<string, Json>()
  for (let after: string | undefined; ; ) {
    const page = await records.list<Json>(SPACE, after, limits.recordsListedMax)
    for (const [name, schema] of page) found.set(name, schema)
    after = page.at(-1)?.[0]
    if (page.length < limits.recordsListedMax) return found
  }
}

/** The schema of the input of a graph document: the parameters that it declares. */
export function schemaOfDocument(document: Json | undefined): Json | undefined {
  if (!isObject(document) || !isObject(document['parameters'])) return undefined
  const parameters = Object.entries(document['parameters'] as Declared)
  const properties = parameters.map(([name, { required: _, ...schema }]) => [name, schema] as const)
  const required = parameters.flatMap(([name, parameter]) => (parameter.required === true ? [name] : []))
  return { type: 'object', properties: Object.fromEntries(properties) as Json, required }
}

/** The schema as text; undefined if it cannot describe itself, or is too large for a form. */
function jsonSchemaOf(schema: { readonly '~standard': object } | undefined): string | undefined {
  const { jsonSchema } = (schema?.['~standard'] ?? {}) as Describing
  try {
    const text = JSON.stringify(jsonSchema?.input?.({ target: 'draft-2020-12' }))
    return text !== undefined && text.length <= limits.inputSchemaLengthMax ? text : undefined
  } catch {
    // Some schemas have no form in JSON Schema, such as one with a transformation.
    return undefined
  }
}
