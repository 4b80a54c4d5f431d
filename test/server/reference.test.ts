// docs/reference/http-api.md and docs/openapi.json, made from the tables: `vitest -u` writes them.
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { Description } from '../../src/core/base/described.ts'
import { inputs } from '../../src/operations/inputs.ts'
import { type OperationName, pathFields, type Route, routes } from '../../src/operations/routes.ts'
import { version } from '../../src/operations/version.ts'
import { openApi, readsQuery } from '../../src/server/openapi.ts'
import { API } from '../../src/server/router.ts'
import { document } from './answers.ts'
import { breakingChanges } from './compatibility.ts'

interface Json {
  [key: string]: Json | undefined
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function section(name: OperationName): string {
  const { method, path, scope, about, key, form } = routes[name] as Route
  const inPath = pathFields(path)
  const place = (field: string): string => {
    if (inPath.includes(field)) return 'path'
    return readsQuery(routes[name]) ? 'query' : 'body'
  }
  const rows = Object.entries(inputs[name] as Description).map(([field, { takes, otherwise = '', about: what }]) => {
    return `| \`${field}\` | ${place(field)} | ${cell(takes.replace(/\ba Date\b/, 'a time'))} | ${cell(otherwise)} | ${cell(what)} |`
  })
  const head = ['| field | in | takes | default | |', '| --- | --- | --- | --- | --- |']
  const { responses } = document.paths[`${API}${path}`]?.[method.toLowerCase()] ?? { responses: {} }
  const answers = Object.entries(responses).flatMap(([status, { content }]) => {
    if (status === 'default') return []
    const schema = content?.['application/json']?.schema
    return [`${status}${schema ? ` ${shown(schema)}` : form === 'lines' ? ', one JSON text per line' : ''}`]
  })
  const facts = [
    `Scope \`${scope}\`.`,
    ...(key ? [`Takes \`Idempotency-Key\`, as \`${key}\`.`] : []),
    `Answers ${answers.join(' or ')}.`,
  ]
  return [
    ...[`### ${name}`, '', `\`${method} ${API}${path}\``, '', about, '', wrapped(facts.join(' '))],
    ...(rows.length > 0 ? ['', ...head, ...rows] : []),
  ].join('\n')
}

/** A schema in a few words: its name, or its fields. */
function shown(schema: object): string {
  const { $ref, properties, items, type } = schema as {
    $ref?: string
    properties?: object
    items?: object
    type?: string
  }
  if ($ref) return `[${$ref.split('/').at(-1)}](#answers)`
  if (items) return `a list of ${shown(items)}`
  if (properties) return `\`{ ${Object.keys(properties).join(', ')} }\``
  return type ?? 'any JSON value'
}

function wrapped(text: string): string {
  const lines = ['']
  for (const word of text.split(/ (?![^`]*`[^`]*(?:`[^`]*`[^`]*)*$)/)) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + word.length > 118) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines.join('\n')
}

function components(): string {
  const { schemas } = (document as unknown as { components: { schemas: Record<string, object> } }).components
  const rows = Object.entries(schemas).flatMap(([name, schema]) => {
    const { properties = {}, required = [] } = schema as { properties?: Record<string, object>; required?: string[] }
    const fields = Object.entries(properties).map(([field, each]) => {
      const { enum: values } = each as { enum?: readonly string[] }
      const type = values
        ? values.map((value) => `'${value}'`).join(', ')
        : shown(each).replaceAll(/\]\(#\w+\)|\[(?=\w)/g, '')
      return `\`${field}\`${required.includes(field) ? '' : '?'}: ${type}`
    })
    return `| ${name} | ${cell(fields.join('; '))} |`
  })
  return ['| answer | fields |', '| --- | --- |', ...rows].join('\n')
}

const start = `# HTTP API

Every operation of the [server](../guides/http-server.md), as \`GET ${API}/openapi.json\` describes it to programs; the
same document is [openapi.json](../openapi.json). This page is made from the tables that the server uses.

- Fields are in the path, in the query (\`GET\`, \`DELETE\`) or in a JSON body. Lists in a query are separated by commas,
  objects are JSON. A field that is unknown, given twice or of the wrong kind is refused.
- A \`{run}\` is a run id; or \`w:\` and a workflow id, which means its newest run.
- Times are ISO 8601 in UTC, durations are texts such as \`10s\` or milliseconds.
- Values are JSON. What JSON cannot represent becomes the nearest JSON value: a \`Map\` a list of pairs, a \`bigint\` a
  text. With \`Accept: application/vnd.pawl+json\` an answer is exact: \`{ "json": …, "notes": […] }\`, as a request with
  this content type is.
- An error is \`application/problem+json\` with a stable \`code\`. Any operation may answer 400, 401, 403, 404, 405, 408,
  409, 413, 415, 421, 422, 429 and 503: [Errors](errors.md) has every code. After 429 and 503, \`Retry-After\` says when
  to try again.
- Within \`/api/v1\`, operations, optional fields and fields of answers are only added: ignore fields you do not know.
`

test('docs/reference/http-api.md has every operation', async () => {
  const groups = Map.groupBy(Object.keys(routes) as OperationName[], (name) => name.split('.')[0] ?? '')
  const parts = [...groups].flatMap(([group, names]) => [`## ${group}`, ...names.map(section)])
  const page = [start.trimEnd(), ...parts, '## Answers', 'A field with `?` may be absent.', components()].join('\n\n')
  await expect(`${page}\n`).toMatchFileSnapshot('../../docs/reference/http-api.md')
})

const file = new URL('../../docs/openapi.json', import.meta.url)
const now = (): Json => structuredClone(openApi(version())) as Json

describe('docs/openapi.json', () => {
  test('nothing that clients use has been removed, asked for anew or narrowed', async () => {
    const text = await readFile(file, 'utf8').catch(() => JSON.stringify(now()))
    expect(breakingChanges(JSON.parse(text) as Json, now())).toEqual([])
  })

  test('it is the document that the server answers with', async () => {
    await expect(`${JSON.stringify(now(), null, 2)}\n`).toMatchFileSnapshot('../../docs/openapi.json')
  })

  const body = (doc: Json, path = '/runs'): Json =>
    at(doc, 'paths', `${API}${path}`, 'post', 'requestBody', 'content', 'application/json', 'schema')
  const answer = (doc: Json): Json => at(doc, 'components', 'schemas', 'Run')
  const breaking: readonly (readonly [what: string, change: (doc: Json) => void, expected: RegExp])[] = [
    ['an operation is removed', (doc) => delete at(doc, 'paths', `${API}/health`)['get'], /GET .*health is gone/],
    ['a field of a body is removed', (doc) => delete at(body(doc), 'properties')['priority'], /priority is gone/],
    [
      'a parameter is removed',
      (doc) => (at(doc, 'paths', `${API}/runs`, 'get')['parameters'] = [] as never),
      /query limit is gone/,
    ],
    [
      'a field becomes required',
      (doc) => (at(body(doc))['required'] = ['workflow', 'input'] as never),
      /input is newly required/,
    ],
    [
      'a type changes',
      (doc) => (at(body(doc), 'properties', 'workflowId')['type'] = 'integer' as never),
      /workflowId: the type is another/,
    ],
    [
      'a bound is tightened',
      (doc) => (at(body(doc), 'properties', 'priority')['maximum'] = 1 as never),
      /priority: maximum is stricter/,
    ],
    [
      'a value is refused',
      (doc) => (at(body(doc), 'properties', 'reuse')['enum'] = ['allow'] as never),
      /reuse: values are fewer/,
    ],
    ['a field of an answer is removed', (doc) => delete at(answer(doc), 'properties')['queue'], /queue is gone/],
    [
      'a field of an answer may be absent',
      (doc) => (answer(doc)['required'] = ['runId'] as never),
      /status may now be absent/,
    ],
    [
      'a field of an answer has another type',
      (doc) => (at(answer(doc), 'properties', 'queue')['type'] = 'integer' as never),
      /queue: the type/,
    ],
    [
      'an answer is removed',
      (doc) => delete at(doc, 'paths', `${API}/runs`, 'post', 'responses')['201'],
      /no longer answers 201/,
    ],
    [
      'a scope is raised',
      (doc) => (at(doc, 'paths', `${API}/runs`, 'get')['x-scope'] = 'admin' as never),
      /higher scope/,
    ],
  ]

  test.each(breaking)('is compared so that it shows when %s', (_, change, expected) => {
    const changed = now()
    change(changed)
    expect(breakingChanges(now(), changed).join('\n')).toMatch(expected)
  })

  test('what is added or widened breaks nobody', () => {
    const changed = now()
    at(changed, 'paths')['/api/v1/new'] = { get: { responses: {} } } as never
    at(body(changed), 'properties')['more'] = { type: 'string' } as never
    at(answer(changed), 'properties')['more'] = { type: 'string' } as never
    at(body(changed), 'properties', 'priority')['maximum'] = 1e9 as never
    expect(breakingChanges(now(), changed)).toEqual([])
  })
})

function at(value: Json, ...path: readonly string[]): Json {
  return path.reduce((each, key) => {
    const next = each[key]
    if (next === undefined) throw new Error(`no ${key}`)
    return next
  }, value)
}
