// llm_service: one chat completion from a server with an OpenAI-compatible API.
import {
  amount,
  byName,
  choice,
  type Described,
  hidden,
  isObject,
  listOf,
  nested,
  option,
  required,
  strings,
  text,
  whole,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { milliseconds } from '../../core/base/time.ts'
import type { Json } from '../../core/base/value.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { permanentError } from './errors.ts'
import { Guard, guardOptions } from './guard.ts'
import { guardedFetch, type Header } from './guarded-fetch.ts'
import { checkHeaders, keyOf } from './headers.ts'
import { isSuccess, JSON_TYPE, jsonBytes } from './http-body.ts'
import { InputReader, nonEmptyText, type PlainObject } from './input-reader.ts'
import { type Completion, type CompletionUsage, completionOf } from './llm-response.ts'
import { checkedName, commonOptions, handlerActivity, timeLimit } from './options.ts'
import { type SecretValue, valueOf } from './secrets.ts'

const { allowPrivate, lookup } = guardOptions
const perMillion = required(amount('The price of a million tokens.', [0, Number.MAX_SAFE_INTEGER]))

const modelPrice = { inputPerMillion: perMillion, outputPerMillion: perMillion } as const
export interface ModelPrice extends Described<typeof modelPrice> {}

const secretValue = hidden(
  option<SecretValue>(
    'The API key, sent as a bearer token in `authorization`.',
    'a string, or a function that returns one',
    (value) => typeof value === 'string' || typeof value === 'function',
  ),
)

export const llmOptions = {
  ...commonOptions,
  /** Allows a server at a private or loopback address. Default: true. */
  allowPrivate: { ...allowPrivate, otherwise: 'true' },
  lookup,
  /** The URL of the API: 'https://api.openai.com/v1'. '/chat/completions' is appended; a query is kept. */
  baseUrl: required(
    hidden(
      text("The URL of the API: `'https://api.openai.com/v1'`. `/chat/completions` is appended; a query is kept."),
    ),
  ),
  /** The API key, sent as a bearer token in `authorization`. */
  apiKey: secretValue,
  /** More headers, for servers that expect the key elsewhere: `{ 'api-key': key }`. */
  headers: byName(
    "More headers, for servers that expect the key elsewhere: `{ 'api-key': key }`.",
    'an object of strings, or of functions that return one',
    secretValue,
  ),
  /** The model for inputs that name none. */
  model: nonEmptyText('The model for inputs that name none.'),
  /** The only models an input may name. */
  models: strings('The only models an input may name.', 'a list of names', { otherwise: 'all' }),
  /** Prices by model, per million tokens, in the currency of `cost`. */
  prices: byName(
    'Prices by model, in the currency of `cost`.',
    'an object by model, of `{ inputPerMillion, outputPerMillion }`',
    nested('', modelPrice),
  ),
  /** The server's field for the token limit. Default: 'max_tokens'. */
  maxTokensField: choice("The server's field for the token limit.", ['max_tokens', 'max_completion_tokens'], {
    otherwise: "'max_tokens'",
  }),
  /** How long a completion may take. Default: 2m. */
  timeout: timeLimit('How long a completion may take.', limits.llmTimeoutMs),
} as const
export interface LlmOptions extends Described<typeof llmOptions> {}

const message = {
  role: required(choice('The author of the message.', ['system', 'developer', 'user', 'assistant'])),
  /** Text, or parts in the format of the server. */
  content: required(
    option<string | readonly Json[]>(
      'The message: text, or parts in the format of the server.',
      'a string or a list of parts',
      (value) => typeof value === 'string' || Array.isArray(value),
    ),
  ),
} as const
export interface LlmMessage extends Described<typeof message> {}

export const llmInput = {
  /** One user message, instead of `messages`. */
  prompt: nonEmptyText('One user message, instead of `messages`.'),
  messages: listOf<LlmMessage>(
    'The conversation, instead of `prompt`.',
    'a list of `{ role, content }`',
    nested('', message),
  ),
  /** The system message, sent first. */
  system: nonEmptyText('The system message, sent first.'),
  model: nonEmptyText('The model, instead of the one in the options.'),
  temperature: amount('The sampling temperature.', [0, 2]),
  maxTokens: whole('The most tokens the model may generate.', [1, Number.MAX_SAFE_INTEGER]),
  /** The format of the completion: 'json' is any JSON; an object is passed to the server unchanged. */
  responseFormat: option<'text' | 'json' | { readonly [key: string]: Json }>(
    "The format of the completion; an object, such as `{ type: 'json_schema', … }`, is passed to the server unchanged.",
    "'text', 'json' or an object",
    (value) => value === 'text' || value === 'json' || isObject(value),
  ),
} as const
export interface LlmInput extends Described<typeof llmInput> {}

export interface LlmOutput {
  readonly text: string
  /** As the server reports it: 'stop', 'length', 'content_filter'. */
  readonly finishReason: string
  /** The model that produced the completion. */
  readonly model: string
  /** Absent if the server does not report it. */
  readonly usage?: CompletionUsage
  /** Absent if the options have no price for the model. */
  readonly cost?: number
}

const NAME = 'llm_service'

type LlmFields = InputReader<typeof llmInput>

export function llmService(options: LlmOptions): Activity<LlmInput, LlmOutput> {
  const name = checkedName(llmOptions, options, NAME)
  const service = new LlmService(options, name)
  return handlerActivity(name, options.activity, llmInput, (input: LlmInput, ctx) => service.complete(input, ctx))
}

class LlmService {
  readonly #options: LlmOptions
  readonly #name: string
  readonly #guard: Guard
  readonly #url: URL
  readonly #timeoutMs: number

  constructor(options: LlmOptions, name: string) {
    // The address is the program's own and not an input's, so it may be the machine next door.
    this.#guard = new Guard({ ...options, allowPrivate: options.allowPrivate ?? true }, name)
    this.#url = endpointOf(options.baseUrl, name)
    this.#options = options
    this.#name = name
    this.#timeoutMs = milliseconds(options.timeout ?? limits.llmTimeoutMs)
  }

  async complete(input: unknown, ctx: ActivityContext): Promise<LlmOutput> {
    const fields = new InputReader(`the input of '${this.#name}'`, input, llmInput)
    const model = this.#modelOf(fields)
    const body = jsonBytes(this.#requestOf(fields, model), fields.what)
    if (body.byteLength > limits.httpRequestBytesMax) {
      const message = `the prompt has ${body.byteLength} bytes; the limit is ${limits.httpRequestBytesMax}. Shorten it.`
      throw permanentError('REQUEST_TOO_LARGE', message)
    }
    const call = {
      method: 'POST',
      url: this.#url,
      headers: await this.#headers(ctx),
      body,
      timeoutMs: this.#timeoutMs,
      responseBytesMax: limits.httpResponseBytesMax,
      overflow: 'refuse',
      redirectsMax: 0,
      isSuccess,
    } as const
    const response = await guardedFetch(this.#guard, call, ctx.signal)
    return this.#priced(completionOf(response.body, this.#url), model)
  }

  #modelOf(fields: LlmFields): string {
    const { model: usual, models } = this.#options
    const model = fields.get('model') ?? usual
    if (model === undefined) {
      const message = `${fields.what} has no 'model', and neither have the options. Set one of them.`
      throw permanentError('INPUT_INVALID', message)
    }
    if (!models || model === usual || models.includes(model)) return model
    const message = `the model '${model}' is not allowed; expected one of: ${models.join(', ')}. Add it to 'models' of the options to allow it.`
    throw permanentError('MODEL_REFUSED', message, { model })
  }

  #requestOf(fields: LlmFields, model: string): PlainObject {
    const temperature = fields.get('temperature')
    const maxTokens = fields.get('maxTokens')
    const format = formatOf(fields)
    return {
      model,
      messages: messagesOf(fields),
      stream: false,
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && {
        [this.#options.maxTokensField ?? 'max_tokens']: maxTokens,
      }),
      ...(format && { response_format: format }),
    }
  }

  async #headers(ctx: ActivityContext): Promise<readonly Header[]> {
    const { apiKey, headers: further = {} } = this.#options
    const secrets: Header[] = []
    if (apiKey !== undefined) {
      const key = await valueOf(apiKey, `API key of '${this.#name}'`)
      secrets.push({ name: 'authorization', value: `Bearer ${key}`, isSecret: true })
    }
    for (const [name, secret] of Object.entries(further)) {
      const value = await valueOf(secret, `header '${name}' of '${this.#name}'`)
      secrets.push({ name, value, isSecret: true })
    }
    checkHeaders(secrets)
    const own = { 'content-type': JSON_TYPE, accept: JSON_TYPE, 'idempotency-key': keyOf(ctx) }
    return [...Object.entries(own).map(([name, value]) => ({ name, value })), ...secrets]
  }

  #priced(completion: Completion, requested: string): LlmOutput {
    const { prices = {} } = this.#options
    const output = { ...completion, model: completion.model ?? requested }
    // A server may report the dated name of a model that was requested by its short name.
    const priced = [requested, output.model].find((model) => Object.hasOwn(prices, model))
    const price = priced === undefined ? undefined : prices[priced]
    if (!price || !output.usage) return output
    const { inputTokens, outputTokens } = output.usage
    const millionths = inputTokens * price.inputPerMillion + outputTokens * price.outputPerMillion
    return { ...output, cost: millionths / 1_000_000 }
  }
}

function endpointOf(baseUrl: string, name: string): URL {
  const url = URL.parse(baseUrl)
  const isValid = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isValid) {
    const message = `'baseUrl' of ${name} is not a URL pawl can use; expected 'https://host/v1' without credentials. Put the key into 'apiKey'.`
    throw new PawlError('DEFINITION_INVALID', message)
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  return url
}

function messagesOf(fields: LlmFields): readonly LlmMessage[] {
  const prompt = fields.get('prompt')
  const messages =
    fields.get('messages') ?? (prompt === undefined ? undefined : [{ role: 'user', content: prompt } as const])
  if (!messages || (prompt !== undefined && fields.has('messages'))) {
    throw permanentError('INPUT_INVALID', `${fields.what} must have either 'prompt' or 'messages'. Give exactly one.`)
  }
  if (messages.length === 0) throw fields.invalid('messages', 'at least one message')
  const system = fields.get('system')
  return system === undefined ? messages : [{ role: 'system', content: system }, ...messages]
}

function formatOf(fields: LlmFields): PlainObject | undefined {
  const format = fields.get('responseFormat')
  if (format === undefined || format === 'text') return undefined
  return format === 'json' ? { type: 'json_object' } : format
}
