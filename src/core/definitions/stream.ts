// Definitions of streams: a name, and a type for the items.
import { shown } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { checkKnownName } from '../base/names.ts'
import type { Typed } from './contract.ts'

/** A stream: items that a run writes, and that anybody can read from any offset. `stream(name)` defines one. */
export interface Stream<in out Chunk> extends Typed<Chunk, Chunk> {
  readonly is: 'stream'
}

/**
 * Defines a stream: items that steps or the code of a run write, and that anybody can read, live or later.
 *
 * ```ts
 * const tokens = stream<string>('tokens')
 * for await (const { chunk } of run.stream(tokens)) process.stdout.write(chunk)
 * ```
 */
export function stream<Chunk>(name: string): Stream<Chunk> {
  return { is: 'stream', name: checkKnownName(name, 'the name of a stream') } as Stream<Chunk>
}

/** The name of a stream that `call` got. */
export function streamName(call: string, given: unknown): string {
  const { is, name } = (given ?? {}) as { readonly is?: unknown; readonly name?: unknown }
  if (is === 'stream' && typeof name === 'string') return name
  const example = "const tokens = stream<string>('tokens')"
  throw new PawlError('INPUT_INVALID', `${call} expects a stream, but got ${shown(given)}. Define one: ${example}.`)
}

export function streamClosed(stream: string): PawlError {
  const message = `stream '${stream}' is closed, so nothing more can be written. Close it after the last item, or write to another stream.`
  return new PawlError('STREAM_CLOSED', message, { details: { stream } })
}

export function streamFull(stream: string, why: string): PawlError {
  const message = `stream '${stream}' is full: ${why}. Write fewer or larger items, or continue in another run.`
  return new PawlError('STREAM_FULL', message, { details: { stream } })
}
