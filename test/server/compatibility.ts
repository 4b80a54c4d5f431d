// Which changes of the API break its clients: what is removed, asked for anew, or narrowed.

type Json = Readonly<Record<string, unknown>>
type Direction = 'input' | 'output'

interface Side {
  readonly schema: Json
  readonly document: Json
}

const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What would break a client of `before`; an empty list if it can use `after` unchanged. */
export function breakingChanges(before: Json, after: Json): string[] {
  const found: string[] = []
  for (const [path, operations] of Object.entries(record(before['paths']))) {
    for (const [method, operation] of Object.entries(record(operations))) {
      const place = `${method.toUpperCase()} ${path}`
      const now = record(record(after['paths'])[path])[method]
      if (now === undefined) found.push(`${place} is gone`)
      else found.push(...operationChanges(place, [record(operation), before], [record(now), after]))
    }
  }
  return found
}

type Operation = readonly [operation: Json, document: Json]

const SCOPES = ['none', 'read', 'operate', 'admin']

function operationChanges(place: string, [before, was]: Operation, [after, is]: Operation): string[] {
  const found: string[] = []
  const scope = (operation: Json): number => SCOPES.indexOf(text(operation['x-scope'] ?? 'none'))
  if (scope(after) > scope(before)) found.push(`${place} needs a higher scope`)
  if (before['operationId'] !== after['operationId']) found.push(`${place} has another operationId`)
  const [had, has] = [inputOf(before), inputOf(after)]
  found.push(...schemaChanges(place, { schema: had, document: was }, { schema: has, document: is }, 'input'))
  for (const [status, response] of Object.entries(record(before['responses']))) {
    const now = record(after['responses'])[status]
    if (now === undefined) {
      found.push(`${place} no longer answers ${status}`)
      continue
    }
    for (const [type, { schema }] of Object.entries(record(record(response)['content'])) as [string, Json][]) {
      const other = record(record(record(now)['content'])[type])['schema']
      const at = `${place} ${status}`
      if (other === undefined) found.push(`${at} no longer has ${type}`)
      else {
        const [old, young] = [record(schema), record(other)]
        found.push(...schemaChanges(at, { schema: old, document: was }, { schema: young, document: is }, 'output'))
      }
    }
  }
  return found
}

/** Parameters and body as one object, whose fields say where they are. */
function inputOf(operation: Json): Json {
  const parameters = list(operation['parameters']).map(record)
  const fields = parameters.map(({ name, in: place, schema, content }) => {
    const inContent = record(record(content)['application/json'])['schema']
    return [`${String(place)} ${String(name)}`, schema ?? inContent ?? {}] as const
  })
  const needed = parameters
    .filter((each) => each['required'] === true)
    .map((each) => `${text(each['in'])} ${text(each['name'])}`)
  const content = record(record(operation['requestBody'])['content'])
  const body = record(record(content['application/json'])['schema'])
  const properties = { ...Object.fromEntries(fields), ...record(body['properties']) }
  return { type: 'object', properties, required: [...needed, ...list(body['required'])], additionalProperties: false }
}

function resolved({ schema, document }: Side): Json {
  const { $ref, ...rest } = schema
  if (typeof $ref !== 'string') return schema
  const target = $ref
    .slice(2)
    .split('/')
    .reduce<Json>((at, key) => record(at[key]), document)
  return { ...target, ...rest }
}

function schemaChanges(place: string, before: Side, after: Side, direction: Direction, depth = 0): string[] {
  // Failures have causes, which are failures.
  if (depth > 8) return []
  const [was, is] = [resolved(before), resolved(after)]
  // What a client sends must be accepted as before; what it gets must be as it was described.
  const [narrow, wide] = direction === 'input' ? [was, is] : [is, was]
  const found = fits(narrow, wide).map((problem) => `${place}: ${problem}`)
  const [had, has] = [record(was['properties']), record(is['properties'])]
  const [needed, needs] = [list(was['required']), list(is['required'])]
  for (const [name, schema] of Object.entries(had)) {
    if (has[name] === undefined) found.push(`${place}: ${name} is gone`)
    else {
      const [old, young] = [record(schema), record(has[name])]
      const sides = [
        { ...before, schema: old },
        { ...after, schema: young },
      ] as const
      found.push(...schemaChanges(`${place}: ${name}`, ...sides, direction, depth + 1))
    }
  }
  if (direction === 'input') {
    for (const name of needs) if (!needed.includes(name)) found.push(`${place}: ${String(name)} is newly required`)
  } else {
    for (const name of needed) if (!needs.includes(name)) found.push(`${place}: ${String(name)} may now be absent`)
  }
  if (was['items'] !== undefined && is['items'] !== undefined) {
    const sides = [
      { ...before, schema: record(was['items']) },
      { ...after, schema: record(is['items']) },
    ] as const
    found.push(...schemaChanges(`${place}[]`, ...sides, direction, depth + 1))
  }
  return found
}

/** Why a value that `narrow` allows may be one that `wide` does not. */
function fits(narrow: Json, wide: Json): string[] {
  const found: string[] = []
  const types = ({ type, anyOf }: Json): readonly unknown[] | undefined => {
    if (Array.isArray(anyOf)) return anyOf.flatMap((each) => types(record(each)) ?? ['anything'])
    return type === undefined ? undefined : [type].flat()
  }
  const [some, all] = [types(narrow), types(wide)]
  const isIn = (type: unknown): boolean =>
    all?.includes(type) || (type === 'integer' && all?.includes('number')) || false
  if (all && !all.includes('anything') && !(some ?? ['anything']).every(isIn))
    found.push(`the type is another: ${all.join(', ')}`)
  const [values, more] = [narrow['enum'], wide['enum']]
  if (Array.isArray(more) && !(Array.isArray(values) && values.every((each) => more.includes(each))))
    found.push('values are fewer')
  for (const [bound, sign] of Object.entries({ minimum: -1, minLength: -1, maximum: 1, maxLength: 1, maxItems: 1 })) {
    const limit = wide[bound]
    if (typeof limit !== 'number') continue
    const own = narrow[bound]
    if (typeof own !== 'number' || own * sign > limit * sign) found.push(`${bound} is stricter`)
  }
  if (wide['format'] !== undefined && wide['format'] !== narrow['format']) found.push('the format is another')
  if (wide['const'] !== undefined && wide['const'] !== narrow['const']) found.push('the value is another')
  return found
}
