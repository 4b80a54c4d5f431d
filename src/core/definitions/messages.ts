// Definitions of the messages that users send to runs: a name, and a type for the payload.
import { checkKnownName } from '../base/names.ts'
import type { Query, Signal, Update } from './context.ts'
import { type AnySchema, checking, checkNow, parse, type Schema } from './schema.ts'

/**
 * Defines a signal: a message that a run receives and does not answer. A schema checks the payload before it is sent;
 * the payload is sent as given, not as parsed.
 *
 * ```ts
 * const approve = signal<{ by: string }>('approve')
 * await run.signal(approve, { by: 'ann' })
 * ```
 */
export function signal<Payload = void>(name: string): Signal<Payload>
export function signal<Accepted>(name: string, schema: Schema<Accepted, unknown>): Signal<Accepted>
export function signal(name: string, schema?: AnySchema): Signal<unknown> {
  checkKnownName(name, 'the name of a signal')
  const known = checking('schema', schema, `signal '${name}'`)
  return { is: 'signal', name, ...known } as unknown as Signal<unknown>
}

/** Throws if the schema of the signal rejects the payload. */
export async function checkPayload(signal: SignalToSend, payload: unknown): Promise<void> {
  const { name, schema } = signal
  if (schema) await parse(schema, payload, payloadOf(name))
}

/** Like `checkPayload`, for workflow code, where the schema must answer synchronously. */
export function checkPayloadNow(signal: SignalToSend, payload: unknown): void {
  const { name, schema } = signal
  if (schema) checkNow(schema, payload, payloadOf(name))
}

/** The parts of a signal that its sender needs. */
export interface SignalToSend {
  readonly name: string
  readonly schema?: AnySchema
}

function payloadOf(name: string): string {
  return `the payload of signal '${name}'`
}

/**
 * Defines a query: a question that a run answers from its current state. Its handler changes nothing.
 *
 * ```ts
 * const progress = query<void, number>('progress')
 * const percent = await run.query(progress)
 * ```
 */
export function query<Payload = void, Out = unknown>(name: string): Query<Payload, Out> {
  return { is: 'query', name: checkKnownName(name, 'the name of a query') } as Query<Payload, Out>
}

/**
 * Defines an update: a message that a run handles and answers.
 *
 * ```ts
 * const addItem = update<Item, { total: number }>('addItem')
 * const { total } = await run.update(addItem, item)
 * ```
 */
export function update<Payload = void, Out = void>(name: string): Update<Payload, Out> {
  return { is: 'update', name: checkKnownName(name, 'the name of an update') } as Update<Payload, Out>
}
