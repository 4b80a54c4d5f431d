// What a server that speaks as OpenAI's does says, as far as anything is made of it.
import { isObject } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import type { Plain } from './fields.ts'
import { placeOfUrl } from './places.ts'
import { refused } from './refusals.ts'

export interface CompletionUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
}

export interface Completion {
  readonly text: string
  readonly finishReason: string
  readonly model?: string
  readonly usage?: CompletionUsage
}

/** Asking again would be paid for again, so what cannot be read is not tried again. */
export function completionOf(body: Buffer, url: URL): Completion {
  const answer = parsed(body)
  const choice: unknown = Array.isArray(answer?.['choices']) ? answer['choices'][0] : undefined
  const message = isObject(choice) ? choice['message'] : undefined
  if (!answer || !isObject(choice) || !isObject(message)) {
    const head = body.subarray(0, limits.httpErrorBytesMax).toString('utf8')
    const text = `${placeOfUrl(url)} did not answer with a completion; expected JSON with choices[0].message. Is 'baseUrl' right?`
    throw refused('RESPONSE_INVALID', text, { body: head.toWellFormed() })
  }
  const { finish_reason: reason } = choice
  const { model } = answer
  const usage = usageOf(answer['usage'])
  return {
    text: textOf(message['content']),
    finishReason: typeof reason === 'string' ? reason : 'unknown',
    ...(typeof model === 'string' && { model }),
    ...(usage && { usage }),
  }
}

function parsed(body: Buffer): Plain | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Some servers give parts. Nothing is what a model gives that refuses, or calls a tool. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const parts: unknown[] = content
  return parts
    .map((part) => (isObject(part) && part['type'] === 'text' ? part['text'] : ''))
    .join('')
}

function usageOf(usage: unknown): CompletionUsage | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  const totalTokens = typeof total === 'number' ? total : input + output
  return { inputTokens: input, outputTokens: output, totalTokens }
}
