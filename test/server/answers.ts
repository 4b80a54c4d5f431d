// What every answer of the server must be: its headers, and a body that fits the OpenAPI document.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { components } from '../../src/operations/outputs.ts'
import { type OperationName, type Route, routes } from '../../src/operations/routes.ts'
import { openApi } from '../../src/server/openapi.ts'

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Content>> }>>>
  >
}

export const document = openApi('1.0.0') as Document

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Asked = { readonly name: OperationName; readonly method: string }

const safe: Readonly<Record<string, RegExp>> = {
  'x-content-type-options': /^nosniff$/,
  'referrer-policy': /^no-referrer$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'cross-origin-opener-policy': /^same-origin$/,
  'content-security-policy': /^default-src 'none'/,
  'cache-control': /^no-store$/,
  'x-request-id': /^[0-9a-f-]{36}$/,
}

/** Says what is wrong with an answer; undefined if nothing is. */
export function validator(): (asked: Asked, answered: Answered) => string | undefined {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'pawl', components: { schemas: components } })
  const known = new Map<string, ValidateFunction | undefined>()
  const compiled = (schema: object | undefined): ValidateFunction | undefined => {
    if (!schema) return undefined
    return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"pawl#/components')) as object)
  }
  const problem = compiled({ $ref: '#/components/schemas/Problem' })
  const schemaFor = (name: OperationName, status: number): ValidateFunction | undefined => {
    const key = `${name} ${status}`
    if (!known.has(key)) {
      const { path, method } = routes[name] as Route
      const answer = document.paths[`/api/v1${path}`]?.[method.toLowerCase()]?.responses[status]
      if (!answer) return undefined
      known.set(key, compiled(answer.content?.['application/json']?.schema))
    }
    return known.get(key)
  }
  return (asked, { status, headers, text }) => {
    for (const [name, form] of Object.entries(safe)) {
      if (!form.test(headers.get(name) ?? '')) return `${status}: the header ${name} is ${headers.get(name)}`
    }
    if (status >= 500 && status !== 503) return `${status}: ${text}`
    if (asked.method === 'HEAD') return text === '' ? undefined : 'HEAD has a body'
    const type = headers.get('content-type') ?? ''
    if (status >= 400) {
      if (type !== 'application/problem+json') return `${status} has the type ${type}`
      return problem?.(JSON.parse(text)) ? undefined : `${status}: ${ajv.errorsText(problem?.errors)}: ${text}`
    }
    if (status === 204) return text === '' ? undefined : '204 has a body'
    const isOwn = routes[asked.name].method === asked.method
    if (!isOwn || type !== 'application/json') return undefined
    const validate = schemaFor(asked.name, status)
    if (!validate) return `${asked.name} answers ${status}, which its description does not have`
    return validate(JSON.parse(text)) ? undefined : `${status}: ${ajv.errorsText(validate.errors)}: ${text}`
  }
}
