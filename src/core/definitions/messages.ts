// The messages users send to a run: each has a name, and a type for what it carries.
import { checkKnownName } from '../base/names.ts'
import type { Query, Signal, Update } from './context.ts'
import { type AnySchema, checking, checkNow, parse, type Schema } from './schema.ts'

/** Told to a run, and not answered. A schema is asked by whoever sends it; what is sent is what was given. */
export function signal<Payload = void>(name: string): Signal<Payload>
export function signal<Accepted>(name: string, schema: Schema<Accepted, unknown>): Signal<Accepted>
export function signal(name: string, schema?: AnySchema): Signal<unknown> {
  checkKnownName(name, 'the name of a signal')
  const known = checking('schema', schema, `signal '${name}'`)
  return { is: 'signal', name, ...known } as unknown as Signal<unknown>
}

/** Refuses a payload that the schema of its signal refuses. */
export async function checkPayload(signal: Sent, payload: unknown): Promise<void> {
  const { name, schema } = signal
  if (schema) await parse(schema, payload, payloadOf(name))
}

/** The same inside a workflow. */
export function checkPayloadNow(signal: Sent, payload: unknown): void {
  const { name, schema } = signal
  if (schema) checkNow(schema, payload, payloadOf(name))
}

/** A signal, as far as sending it is concerned. */
export interface Sent {
  readonly name: string
  readonly schema?: AnySchema
}

function payloadOf(name: string): string {
  return `the payload of signal '${name}'`
}

/** Asks a run something. It changes nothing, and is answered from where the run stands. */
export function query<Payload = void, Out = unknown>(name: string): Query<Payload, Out> {
  return { is: 'query', name: checkKnownName(name, 'the name of a query') } as Query<Payload, Out>
}

/** Has a run do something, and is answered when it is done. */
export function update<Payload = void, Out = void>(name: string): Update<Payload, Out> {
  return { is: 'update', name: checkKnownName(name, 'the name of an update') } as Update<
    Payload,
    Out
  >
}
