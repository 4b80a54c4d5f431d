// Values of users as stored: readable JSON, and notes for everything that JSON cannot represent. The notes are kept
// apart from the data, so that no data can look like a note. Symbol keys, properties that are not enumerable, and named
// properties of arrays are not kept.

import { PawlError } from './assert.ts'
import { byteLength, fromBase64, toBase64 } from './bytes.ts'
import { limits } from './limits.ts'
import { classNameOf, placeOf, tagOf } from './names.ts'

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The kind of the value at a path of the JSON, where it is not plain JSON. */
export type Note = readonly [kind: string, ...path: (string | number)[]]

/** A value as stored: plain JSON, and notes for what JSON cannot represent. */
export interface Payload {
  readonly json: Json
  readonly notes?: readonly Note[]
}

/** How large a value may be. */
interface Bounds {
  readonly bytes: number
  readonly depth: number
}

const ofPayload: Bounds = { bytes: limits.payloadBytesMax, depth: limits.payloadDepthMax }
/** An answer of the server contains payloads, so it is larger and deeper. */
const ofAnswer: Bounds = { bytes: Number.POSITIVE_INFINITY, depth: limits.requestDepthMax }

/** An answer of a server, or a call of a client, as a payload: without the bounds of a single value. */
export function encodeAnswer(value: unknown, what = 'the answer'): Payload {
  return encode(value, what, ofAnswer)
}

/** The value as a payload, which is a deep copy. `what` names the value in errors. */
export function encode(value: unknown, what: string, bounds = ofPayload): Payload {
  if (value === undefined) return nothing
  if (isSimple(value) && (typeof value !== 'string' || value.length < shortText)) {
    return { json: value }
  }
  const draft: Draft = { what, bounds, path: [], above: [], notes: [], least: 0, most: 0 }
  const json = copyGuarded(value, draft)
  const payload: Payload = draft.notes.length === 0 ? { json } : { json, notes: draft.notes }
  if (draft.most > bounds.bytes) checkSize(payload, what)
  return payload
}

/** The value of a payload. Each call returns a new copy. */
export function decode(payload: Payload): unknown {
  return revive(payload.json, payload.notes && treeOf(payload.notes), 0)
}

const nothing: Payload = Object.freeze({
  json: null,
  notes: Object.freeze([Object.freeze(['undefined'] as const)]),
})

/** A shorter string fits into a payload, whatever characters it has. */
const shortText = limits.payloadBytesMax / 8

/** True for primitives that JSON represents exactly. */
function isSimple(value: unknown): value is null | boolean | number | string {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  return typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)
}

interface Draft {
  readonly what: string
  readonly bounds: Bounds
  /** The path of the value that is being copied. */
  readonly path: (string | number)[]
  /** The objects that contain that value. */
  readonly above: object[]
  readonly notes: Note[]
  /** Bounds of the payload's bytes so far. Its size is measured only if the limit lies between them. */
  least: number
  most: number
}

/** A control character takes six bytes: `\u0000`. */
const bytesPerCharMax = 6
const bytesPerNumberMax = 24
/** Copying continues to this multiple of the limit, so that the error can state the exact size. */
const copiedPastLimit = 4

type MutableJson = { [key: string]: Json }

function copyGuarded(value: unknown, draft: Draft): Json {
  try {
    return copy(value, draft)
  } catch (error) {
    if (error instanceof PawlError) throw error
    throw refusal(draft, 'cannot be read', 'a getter or a proxy threw', error)
  }
}

function copy(value: unknown, draft: Draft): Json {
  switch (typeof value) {
    case 'string':
      growText(draft, value)
      return value
    case 'boolean':
      grow(draft, 4, 6)
      return value
    case 'number':
      grow(draft, 1, bytesPerNumberMax + 1)
      return copyNumber(value, draft)
    case 'undefined':
      return noted('undefined', null, draft)
    case 'bigint':
      return noted('bigint', copy(value.toString(), draft), draft)
    case 'object':
      if (value !== null) return copyObject(value, draft)
      grow(draft, 4, 5)
      return null
    case 'function':
      throw refusal(draft, 'is a function', 'only data can be stored, not code')
    case 'symbol':
      return copySymbol(value, draft)
  }
}

/** The registered symbols `TIMEOUT` and `CANCELLED`, which workflow code gets instead of a value. */
const outcomes = ['pawl.TIMEOUT', 'pawl.CANCELLED']

function copySymbol(value: symbol, draft: Draft): Json {
  const name = Symbol.keyFor(value) ?? ''
  if (outcomes.includes(name)) return noted('outcome', copy(name, draft), draft)
  throw refusal(draft, 'is a symbol', 'use a string instead')
}

function copyNumber(value: number, draft: Draft): Json {
  if (Number.isFinite(value)) return Object.is(value, -0) ? noted('-0', 0, draft) : value
  if (Number.isNaN(value)) return noted('nan', null, draft)
  return noted(value > 0 ? 'infinity' : '-infinity', null, draft)
}

function copyObject(value: object, draft: Draft): Json {
  if (draft.above.includes(value)) {
    throw refusal(draft, 'refers back to an object that contains it', 'refer to it by an id')
  }
  if (draft.path.length >= draft.bounds.depth) throw refusal(draft, tooDeep, 'flatten it')
  draft.above.push(value)
  const json = isPlain(value) ? copyRecord(value, draft) : copyOther(value, draft)
  draft.above.pop()
  return json
}

/** True in any realm: the prototype of a class has a prototype itself, Object.prototype has none. */
function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return Object.getPrototypeOf(prototype) === null
}

function copyRecord(value: Readonly<Record<string, unknown>>, draft: Draft): MutableJson {
  const json: MutableJson = {}
  grow(draft, 2, 3)
  for (const key of Object.keys(value)) put(json, key, copyAt(value[key], key, draft))
  return json
}

function copyAt(value: unknown, key: string | number, draft: Draft): Json {
  if (typeof key === 'string') growText(draft, key)
  draft.path.push(key)
  const json = copy(value, draft)
  draft.path.pop()
  return json
}

function copyItems(items: readonly unknown[], draft: Draft): Json[] {
  grow(draft, 2, 3)
  const json: Json[] = []
  for (let index = 0; index < items.length; index++) json.push(copyAt(items[index], index, draft))
  return json
}

/** Copies an object that is not a plain one. */
function copyOther(value: object, draft: Draft): Json {
  if (Array.isArray(value) && classNameOf(value) === 'Array') return copyItems(value, draft)
  if (value instanceof Error || tagOf(value) === 'Error') return copyError(value as Error, draft)
  return copyKind(tagOf(value), value, draft)
}

function copyKind(tag: string, value: object, draft: Draft): Json {
  const name = classNameOf(value)
  if (tag === 'Uint8Array') return copyBytes('bytes', value as Uint8Array, draft)
  if (tag === 'ArrayBuffer') return copyBytes('buffer', new Uint8Array(value as ArrayBuffer), draft)
  if (tag !== name) return refuseClass(name, draft)
  switch (tag) {
    case 'Date':
      return noted('date', copy(isoOf(value as Date), draft), draft)
    case 'Map':
      return noted('map', copyItems([...(value as ReadonlyMap<unknown, unknown>)], draft), draft)
    case 'Set':
      return noted('set', copyItems([...(value as ReadonlySet<unknown>)], draft), draft)
    case 'URL':
      return noted('url', copy((value as URL).href, draft), draft)
    default:
      return refuseClass(name, draft)
  }
}

function isoOf(date: Date): string | null {
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function copyBytes(kind: 'bytes' | 'buffer', bytes: Uint8Array, draft: Draft): Json {
  const length = Math.ceil(bytes.byteLength / 3) * 4
  grow(draft, length, length + 3)
  return noted(kind, toBase64(bytes), draft)
}

/** The properties of an error that are usually not enumerable or on its prototype. */
const errorFields = ['name', 'message', 'stack', 'code'] as const

function copyError(error: Error, draft: Draft): Json {
  const json: MutableJson = {}
  const fields = error as unknown as Readonly<Record<string, unknown>>
  const copyField = (key: string) => put(json, key, copyAt(fields[key], key, draft))
  for (const key of errorFields) if (fields[key] !== undefined) copyField(key)
  if (Object.hasOwn(error, 'cause')) copyField('cause')
  const aggregate = error instanceof AggregateError
  if (aggregate) copyField('errors')
  for (const key of Object.keys(error)) if (!Object.hasOwn(json, key)) copyField(key)
  return noted(aggregate ? 'aggregate' : 'error', json, draft)
}

function noted(kind: string, json: Json, draft: Draft): Json {
  grow(draft, kind.length + 4, kind.length + 10) // including the `null` that may replace the value
  for (const key of draft.path) {
    if (typeof key === 'string') growText(draft, key)
    else grow(draft, 2, bytesPerNumberMax + 1)
  }
  draft.notes.push([kind, ...draft.path])
  return json
}

// Assigning to `__proto__` would change the prototype and lose the property.
function put<Value>(target: { [key: string]: Value }, key: string, value: Value): void {
  if (key === '__proto__') define(target, key, value, true)
  else target[key] = value
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true })
}

function growText(draft: Draft, text: string): void {
  grow(draft, text.length + 2, text.length * bytesPerCharMax + 3)
}

// Commas and colons are counted in `most` only.
function grow(draft: Draft, least: number, most: number): void {
  draft.least += least
  draft.most += most
  if (draft.least > copiedPastLimit * draft.bounds.bytes) throw tooLarge(draft.what, undefined)
}

function checkSize({ json, notes }: Payload, what: string): void {
  const text = JSON.stringify(json) + (notes === undefined ? '' : JSON.stringify(notes))
  const bytes = byteLength(text)
  if (bytes > limits.payloadBytesMax) throw tooLarge(what, bytes)
}

// ── errors ──

function adviceOn(name: string): string | undefined {
  if (name === 'Promise') return 'await it first'
  if (name === 'RegExp') return 'store its source and its flags as strings'
  if (name.startsWith('Weak')) return 'use a Map, a Set or the object itself instead'
  const binary = /^(?:SharedArrayBuffer|DataView|(?:Big)?(?:Int|Uint|Float)\d+(?:Clamped)?Array)$/
  return binary.test(name) ? 'use a Uint8Array or an array of numbers instead' : undefined
}

function refuseClass(name: string, draft: Draft): never {
  const known = adviceOn(name)
  if (known !== undefined) throw refusal(draft, `is a ${name}`, known)
  const plain = 'pass or return a plain object with the data that is needed instead'
  throw refusal(draft, `is an instance of the class ${name}`, plain)
}

const tooDeep = `is nested more than ${limits.payloadDepthMax} levels deep`

function refusal(draft: Draft, problem: string, todo: string, cause?: unknown): PawlError {
  const message = `${placeOf(draft.what, draft.path)} ${problem} and cannot be stored: ${todo}`
  const details = { path: [...draft.path] }
  return new PawlError('NOT_SERIALISABLE', message, cause ? { details, cause } : { details })
}

function tooLarge(what: string, bytes: number | undefined): PawlError {
  const max = limits.payloadBytesMax
  const size = bytes === undefined ? `more than ${copiedPastLimit * max} bytes` : `${bytes} bytes`
  const todo = 'store it elsewhere and pass a reference'
  const message = `${what} takes ${size} as JSON, the limit is ${max}: ${todo}`
  return new PawlError('PAYLOAD_TOO_LARGE', message, { details: { bytes, max } })
}

/** The notes as a tree along their paths. The children are a Map, because a key may be `__proto__`. */
interface Tree {
  kind: string | undefined
  readonly children: Map<string | number, Tree>
}

function treeOf(notes: readonly Note[]): Tree {
  const root: Tree = { kind: undefined, children: new Map() }
  if (!Array.isArray(notes)) throw damaged('its notes are not a list')
  for (const note of notes as readonly unknown[]) {
    if (!Array.isArray(note) || typeof note[0] !== 'string') throw damaged('a note has no kind')
    let tree = root
    for (const key of note.slice(1) as (string | number)[]) tree = childOf(tree, key)
    tree.kind = note[0]
  }
  return root
}

function childOf({ children }: Tree, key: string | number): Tree {
  const child = children.get(key) ?? { kind: undefined, children: new Map() }
  children.set(key, child)
  return child
}

// Notes with a path that does not exist are ignored.
function revive(json: Json, tree: Tree | undefined, depth: number): unknown {
  if (depth > limits.requestDepthMax) throw damaged('it is nested too deep')
  const value = isSimple(json) ? json : reviveChildren(json, tree, depth)
  if (tree?.kind === undefined) return value
  const reviver = revivers.get(tree.kind)
  if (reviver !== undefined) return reviver(value)
  throw damaged(`a note says '${tree.kind}', which this version of pawl does not know`)
}

function reviveChildren(json: Json, tree: Tree | undefined, depth: number): unknown {
  if (Array.isArray(json)) {
    const items = json as readonly Json[]
    return items.map((item, index) => revive(item, tree?.children.get(index), depth + 1))
  }
  if (typeof json !== 'object' || json === null) return json
  const source = json as { readonly [key: string]: Json }
  const record: Record<string, unknown> = {}
  for (const key of Object.keys(source)) {
    put(record, key, revive(source[key] ?? null, tree?.children.get(key), depth + 1))
  }
  return record
}

const revivers: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ['undefined', () => undefined],
  ['nan', () => Number.NaN],
  ['infinity', () => Number.POSITIVE_INFINITY],
  ['-infinity', () => Number.NEGATIVE_INFINITY],
  ['-0', () => -0],
  ['date', dateOf],
  ['bigint', bigintOf],
  ['outcome', (name) => Symbol.for(outcomes.find((each) => each === name) ?? 'pawl.unknown')],
  ['url', urlOf],
  ['bytes', bytesOf],
  ['buffer', (value) => bytesOf(value).buffer],
  ['set', (value) => new Set(listOf(value, 'set'))],
  ['map', (value) => new Map(listOf(value, 'map').map(pairOf))],
  ['error', (value) => errorOf(value, new Error())],
  ['aggregate', (value) => errorOf(value, new AggregateError([]))],
] as [string, (value: unknown) => unknown][])

const hiddenFields: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause'])

function errorOf(value: unknown, error: Error): Error {
  if (typeof value !== 'object' || value === null || !isPlain(value)) {
    throw mismatch('error', 'an object')
  }
  const aggregate = error instanceof AggregateError
  for (const [key, field] of Object.entries(value)) {
    if (key === 'name' && field === error.name) continue
    define(error, key, field, !hiddenFields.has(key) && !(aggregate && key === 'errors'))
  }
  return error
}

// Parts of a stored value while it is decoded. Each is checked to have the kind that its note says.

export function dateOf(value: unknown): Date {
  if (typeof value === 'string' || value === null) return new Date(value ?? Number.NaN)
  throw mismatch('date', 'text')
}

export function bigintOf(value: unknown): bigint {
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  throw mismatch('bigint', 'a text of digits')
}

export function urlOf(value: unknown): URL {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url !== null) return url
  throw mismatch('url', 'a URL')
}

export function bytesOf(value: unknown): Uint8Array {
  // A copy, because a Buffer may share its memory with other Buffers.
  if (typeof value === 'string') return fromBase64(value)
  throw mismatch('bytes', 'text')
}

export function listOf(value: unknown, kind: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw mismatch(kind, 'a list')
}

export function pairOf(value: unknown): readonly [unknown, unknown] {
  if (Array.isArray(value) && value.length === 2) return [value[0], value[1]]
  throw mismatch('map', 'a list of pairs')
}

export function mismatch(kind: string, expected: string): PawlError {
  return damaged(`a note says '${kind}', but the value is not ${expected}`)
}

export function damaged(problem: string): PawlError {
  return new PawlError('NOT_SERIALISABLE', `a stored value cannot be read: ${problem}`)
}
