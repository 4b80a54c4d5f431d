// Reads the response of a server with an OpenAI-compatible API.
import { isObject } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { permanentError, safeUrl } from './errors.ts'
import type { PlainObject } from './input-reader.ts'

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

/** A response that cannot be read is a permanent error, because a second completion would be charged again. */
export function completionOf(body: Buffer, url: URL): Completion {
  const response = parsed(body)
  const choice: unknown = Array.isArray(response?.['choices']) ? response['choices'][0] : undefined
  const message = isObject(choice) ? choice['message'] : undefined
  if (!response || !isObject(choice) || !isObject(message)) {
    const head = body.subarray(0, limits.httpErrorBytesMax).toString('utf8')
    const text = `${safeUrl(url)} did not return a completion; expected JSON with choices[0].message. Check 'baseUrl' of the options.`
    throw permanentError('RESPONSE_INVALID', text, { body: head.toWellFormed() })
  }
  const { finish_reason: reason } = choice
  const { model } = response
  const usage = usageOf(response['usage'])
  return {
    text: textOf(message['content']),
    finishReason: typeof reason === 'string' ? reason : 'unknown',
    ...(typeof model === 'string' && { model }),
    ...(usage && { usage }),
  }
}

function parsed(body: Buffer): PlainObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Some servers return a list of parts. The content is empty if the model refuses or calls a tool. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const parts: unknown[] = content
  return parts.map((part) => (isObject(part) && part['type'] === 'text' ? part['text'] : '')).join('')
}

function usageOf(usage: unknown): CompletionUsage | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  const totalTokens = typeof total === 'number' ? total : input + output
  return { inputTokens: input, outputTokens: output, totalTokens }
}
