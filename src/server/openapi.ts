// The OpenAPI document, from the tables of operations.
import { type Description, type JsonSchema, schemaOf } from '../core/base/described.ts'
import { inputs } from '../operations/inputs.ts'
import { components, outputs } from '../operations/outputs.ts'
import { type OperationName, pathFields, type Route, routes } from '../operations/routes.ts'
import { API } from './router.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** The JSON Schema of the input of each operation. */
export const inputSchemas = Object.fromEntries(
  Object.entries(inputs).map(([name, description]: [string, Description]) => [name, schemaOf(description)]),
) as Readonly<Record<OperationName, JsonSchema>>

export function propertiesOf(name: OperationName): Schemas {
  return (inputSchemas[name] as { readonly properties: Schemas }).properties
}

/** True if the operation takes fields that are not in its path from the query, and no body. */
export function readsQuery({ method }: Route): boolean {
  return method === 'GET' || method === 'DELETE'
}

export function openApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const [name, route] of Object.entries(routes) as [OperationName, Route][]) {
    const path = (paths[`${API}${route.path}`] ??= {})
    path[route.method.toLowerCase()] = operation(name, route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'pawl',
      version,
      description: 'Durable workflows over HTTP. Within v1, fields and operations are only added.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: { Problem: { description: 'The request was refused, or failed.', content: problem } },
    },
  }
}

const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

function operation(name: OperationName, route: Route): object {
  const required = (inputSchemas[name] as { readonly required?: readonly string[] }).required ?? []
  const inPath = pathFields(route.path)
  const rest = Object.entries(propertiesOf(name)).filter(([field]) => !inPath.includes(field))
  const parameter = (field: string, place: string, schema: JsonSchema): object => {
    const { description, ...plain } = schema
    const isRequired = place === 'path' || required.includes(field)
    return { name: field, in: place, required: isRequired, description, ...shownIn(plain) }
  }
  const properties = propertiesOf(name)
  const parameters = [
    ...inPath.map((field) => parameter(field, 'path', properties[field] ?? {})),
    ...(readsQuery(route) ? rest.map(([field, schema]) => parameter(field, 'query', schema)) : []),
    ...(route.key === undefined ? [] : [idempotencyKey(route.key)]),
  ]
  return {
    operationId: name.replace('.', '_'),
    tags: [name.split('.')[0]],
    summary: route.about,
    ...(route.scope === 'none' ? { security: [] } : { 'x-scope': route.scope }),
    ...(parameters.length > 0 && { parameters }),
    ...(!readsQuery(route) && rest.length > 0 && { requestBody: bodyOf(rest, required) }),
    responses: {
      ...answers(name, route),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

/** Lists are separated by commas, and objects are JSON. */
function shownIn(schema: JsonSchema): object {
  const { type } = schema
  if (type === 'object') return { content: { 'application/json': { schema } } }
  return type === 'array' ? { schema, style: 'form', explode: false } : { schema }
}

function idempotencyKey(field: string): object {
  const description = `Calls with the same key take effect once. The same as \`${field}\`, which it fills.`
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', maxLength: 255 },
  }
}

function bodyOf(fields: readonly (readonly [string, JsonSchema])[], required: readonly string[]): object {
  const needed = fields.flatMap(([field]) => (required.includes(field) ? [field] : []))
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields),
    ...(needed.length > 0 && { required: needed }),
    additionalProperties: false,
  }
  return { required: needed.length > 0, content: { 'application/json': { schema } } }
}

function answers(name: OperationName, { success, form }: Route): object {
  const schema = outputs[name]
  if (form === 'lines') {
    return { 200: { description: 'One JSON text per line.', content: { 'application/x-ndjson': { schema: {} } } } }
  }
  if (form === 'events') {
    return { 200: { description: 'Server-sent events.', content: { 'text/event-stream': { schema: {} } } } }
  }
  const content = schema && { 'application/json': { schema } }
  const answer = { description: success === 204 ? 'Done.' : 'The answer.', ...(content && { content }) }
  const others = otherSuccess[name] ?? []
  return Object.fromEntries([success, ...others].map((status) => [status, answer]))
}

/** Operations that also answer with another status: 200 for what existed before, 202 for what has not happened yet. */
const otherSuccess: Partial<Readonly<Record<OperationName, readonly number[]>>> = {
  'runs.start': [200],
  'runs.signalWithStart': [200],
  'runs.updateWithStart': [200, 202],
  'runs.result': [202],
  'runs.update': [202],
  'runs.updateResult': [202],
}

/** The status of an answer. */
export function statusFor(name: OperationName, { success }: Route, output: unknown): number {
  const { isNew, why, status } = (output ?? {}) as Partial<Record<'isNew' | 'why' | 'status', unknown>>
  if (otherSuccess[name]?.includes(202) && (why !== undefined || status === 'live')) return 202
  return otherSuccess[name]?.includes(200) && isNew === false ? 200 : success
}
