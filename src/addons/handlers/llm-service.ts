// llm_service: one completion of a chat, from any server that speaks as OpenAI's does.

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
import { milliseconds } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { isSuccess, JSON_TYPE, jsonBytes } from './contents.ts'
import { Fields, filled, type Plain } from './fields.ts'
import { Guard, guardOptions } from './guard.ts'
import { guardedFetch, type Header } from './guarded-fetch.ts'
import { checkHeaders, keyOf } from './headers.ts'
import { type Completion, type CompletionUsage, completionOf } from './llm-answer.ts'
import { checkHandler, commonOptions, describedActivity, timeLimit } from './options.ts'
import { refused } from './refusals.ts'
import { type SecretValue, valueOf } from './secrets.ts'

const { allowPrivate, lookup } = guardOptions
const perMillion = required(amount('Per million tokens.', [0, Number.MAX_SAFE_INTEGER]))

const modelPrice = { inputPerMillion: perMillion, outputPerMillion: perMillion } as const
export interface ModelPrice extends Described<typeof modelPrice> {}

const secretValue = hidden(
  option<SecretValue>(
    'Goes into `authorization`, as a bearer token.',
    'a text, or a function that gives one',
    (value) => typeof value === 'string' || typeof value === 'function',
  ),
)

export const llmOptions = {
  ...commonOptions,
  /** Whether it may be at a private or loopback address. true */
  allowPrivate: { ...allowPrivate, otherwise: 'true' },
  lookup,
  /** 'https://api.openai.com/v1'; '/chat/completions' is added. */
  baseUrl: required(
    hidden(text("`'https://api.openai.com/v1'`; `/chat/completions` is added, a query stays.")),
  ),
  /** Goes into `authorization`, as a bearer token. */
  apiKey: secretValue,
  /** Further headers, for servers that want their key in one of their own. */
  headers: byName(
    "Further headers, for servers that want their key elsewhere: `{ 'api-key': key }`.",
    'an object of texts, or of functions that give one',
    secretValue,
  ),
  /** For inputs that name none. */
  model: filled('For inputs that name none.'),
  /** The only ones an input may name. */
  models: strings('The only models an input may name.', 'a list of names', { otherwise: 'all' }),
  /** By model, per million tokens, in whatever currency `cost` shall be in. */
  prices: byName(
    'What models cost, in whatever currency `cost` shall be in.',
    'an object by model, of `{ inputPerMillion, outputPerMillion }`',
    nested('', modelPrice),
  ),
  /** How the server calls the limit of tokens. 'max_tokens' */
  maxTokensField: choice(
    'How the server calls the limit of tokens.',
    ['max_tokens', 'max_completion_tokens'],
    { otherwise: "'max_tokens'" },
  ),
  /** 2m */
  timeout: timeLimit('How long a completion may take.', limits.llmTimeoutMs),
} as const
export interface LlmOptions extends Described<typeof llmOptions> {}

const message = {
  role: required(choice('Who says it.', ['system', 'developer', 'user', 'assistant'])),
  /** A text, or parts as the server takes them. */
  content: required(
    option<string | readonly Json[]>(
      'What is said.',
      'a text or a list of parts',
      (value) => typeof value === 'string' || Array.isArray(value),
    ),
  ),
} as const
export interface LlmMessage extends Described<typeof message> {}

export const llmInput = {
  /** One message of the user; else `messages`. */
  prompt: filled('One message of the user; else `messages`.'),
  messages: listOf<LlmMessage>(
    'A conversation.',
    'a list of `{ role, content }`',
    nested('', message),
  ),
  /** Goes before them. */
  system: filled('Goes before them.'),
  model: filled('Which one is asked, unless the options say.'),
  temperature: amount('How freely it answers.', [0, 2]),
  maxTokens: whole('The longest answer.', [1, Number.MAX_SAFE_INTEGER]),
  /** 'json' is any JSON; an object is given to the server as it is. */
  responseFormat: option<'text' | 'json' | { readonly [key: string]: Json }>(
    "What the answer is; an object, such as `{ type: 'json_schema', … }`, is given to the server as it is.",
    "'text', 'json' or an object",
    (value) => value === 'text' || value === 'json' || isObject(value),
  ),
} as const
export interface LlmInput extends Described<typeof llmInput> {}

export interface LlmOutput {
  readonly text: string
  /** 'stop', 'length', 'content_filter': as the server says. */
  readonly finishReason: string
  /** The one that answered. */
  readonly model: string
  /** Missing if the server does not tell. */
  readonly usage?: CompletionUsage
  /** Missing if there is no price for the model. */
  readonly cost?: number
}

const NAME = 'llm_service'

type LlmFields = Fields<typeof llmInput>

export function llmService(options: LlmOptions): Activity<LlmInput, LlmOutput> {
  const name = checkHandler(llmOptions, options, NAME)
  const service = new LlmService(options, name)
  return describedActivity(name, options.activity, llmInput, (input: LlmInput, ctx) =>
    service.complete(input, ctx),
  )
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
    const fields = new Fields(`the input of '${this.#name}'`, input, llmInput)
    const model = this.#modelOf(fields)
    const body = jsonBytes(this.#requestOf(fields, model), fields.what)
    if (body.byteLength > limits.httpRequestBytesMax) {
      const message = `the prompt has ${body.byteLength} bytes, at most ${limits.httpRequestBytesMax} are possible.`
      throw refused('REQUEST_TOO_LARGE', message)
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
    const answer = await guardedFetch(this.#guard, call, ctx.signal)
    return this.#priced(completionOf(answer.body, this.#url), model)
  }

  #modelOf(fields: LlmFields): string {
    const { model: usual, models } = this.#options
    const model = fields.get('model') ?? usual
    if (model === undefined) {
      const message = `${fields.what} has no 'model', and the options have none either.`
      throw refused('INPUT_INVALID', message)
    }
    if (!models || model === usual || models.includes(model)) return model
    const message = `the model '${model}' is not one of those allowed: ${models.join(', ')}. Add it to 'models' of the options if it should be.`
    throw refused('MODEL_REFUSED', message, { model })
  }

  #requestOf(fields: LlmFields, model: string): Plain {
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

  #priced(completion: Completion, asked: string): LlmOutput {
    const { prices = {} } = this.#options
    const output = { ...completion, model: completion.model ?? asked }
    // Servers answer with the dated name of a model that was asked for by its short one.
    const priced = [asked, output.model].find((model) => Object.hasOwn(prices, model))
    const price = priced === undefined ? undefined : prices[priced]
    if (!price || !output.usage) return output
    const { inputTokens, outputTokens } = output.usage
    const millionths = inputTokens * price.inputPerMillion + outputTokens * price.outputPerMillion
    return { ...output, cost: millionths / 1_000_000 }
  }
}

function endpointOf(baseUrl: string, name: string): URL {
  const url = URL.parse(baseUrl)
  const isFit = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isFit) {
    const message = `'baseUrl' of ${name} cannot be used; expected 'https://host/v1', without credentials. The key belongs in 'apiKey'.`
    throw new PawlError('DEFINITION_INVALID', message)
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  return url
}

function messagesOf(fields: LlmFields): readonly LlmMessage[] {
  const prompt = fields.get('prompt')
  const messages =
    fields.get('messages') ??
    (prompt === undefined ? undefined : [{ role: 'user', content: prompt } as const])
  if (!messages || (prompt !== undefined && fields.has('messages'))) {
    throw refused('INPUT_INVALID', `${fields.what} needs 'prompt' or 'messages', and not both.`)
  }
  if (messages.length === 0) throw fields.wrong('messages', 'at least one message')
  const system = fields.get('system')
  return system === undefined ? messages : [{ role: 'system', content: system }, ...messages]
}

function formatOf(fields: LlmFields): Plain | undefined {
  const format = fields.get('responseFormat')
  if (format === undefined || format === 'text') return undefined
  return format === 'json' ? { type: 'json_object' } : format
}
