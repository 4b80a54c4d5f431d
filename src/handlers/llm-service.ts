// llm_service: one completion of a chat, from any server that speaks as OpenAI's does.
import { type Activity, activity } from '../definitions/activity.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import type { Duration } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { limits } from '../kernel/limits.ts'
import type { Json } from '../kernel/value.ts'
import { isSuccess, JSON_TYPE, jsonBytes } from './contents.ts'
import { Fields, isPlain, type Plain, timeoutMs, wrong } from './fields.ts'
import { Guard, type GuardOptions } from './guard.ts'
import { guardedFetch, type Header } from './guarded-fetch.ts'
import { checkHeaders, keyOf } from './headers.ts'
import { type Completion, type CompletionUsage, completionOf } from './llm-answer.ts'
import type { HandlerOptions } from './options.ts'
import { refused } from './refusals.ts'
import { type SecretValue, valueOf } from './secrets.ts'

export interface LlmOptions extends HandlerOptions, Omit<GuardOptions, 'hosts'> {
  /** 'https://api.openai.com/v1'; '/chat/completions' is added. */
  readonly baseUrl: string
  /** Goes into `authorization`, as a bearer token. */
  readonly apiKey?: SecretValue
  /** Further headers, for servers that want their key in one of their own. */
  readonly headers?: Readonly<Record<string, SecretValue>>
  /** For inputs that name none. */
  readonly model?: string
  /** The only ones an input may name. */
  readonly models?: readonly string[]
  /** By model, per million tokens, in whatever currency `cost` shall be in. */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** How the server calls the limit of tokens. 'max_tokens' */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** 2m */
  readonly timeout?: Duration
}

export interface ModelPrice {
  readonly inputPerMillion: number
  readonly outputPerMillion: number
}

export interface LlmMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant'
  /** A text, or parts as the server takes them. */
  readonly content: string | readonly Json[]
}

export interface LlmInput {
  /** One message of the user; else `messages`. */
  readonly prompt?: string
  readonly messages?: readonly LlmMessage[]
  /** Goes before them. */
  readonly system?: string
  readonly model?: string
  readonly temperature?: number
  readonly maxTokens?: number
  /** 'json' is any JSON; an object is given to the server as it is. */
  readonly responseFormat?: 'text' | 'json' | { readonly [key: string]: Json }
}

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

const known = [
  'prompt',
  'messages',
  'system',
  'model',
  'temperature',
  'maxTokens',
  'responseFormat',
] as const

const roles: readonly unknown[] = ['system', 'developer', 'user', 'assistant']

export function llmService(options: LlmOptions): Activity<LlmInput, LlmOutput> {
  const name = options.name ?? NAME
  const service = new LlmService(options, name)
  return activity(name, options.activity ?? {}, (input: LlmInput, ctx) =>
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
    this.#guard = new Guard({ allowPrivate: true, ...options }, name)
    this.#url = endpointOf(options.baseUrl, name)
    this.#options = options
    this.#name = name
    this.#timeoutMs = timeoutMs(options.timeout ?? limits.llmTimeoutMs, `'timeout' of ${name}`)
  }

  async complete(input: unknown, ctx: ActivityContext): Promise<LlmOutput> {
    const fields = new Fields(`the input of '${this.#name}'`, input, known)
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

  #modelOf(fields: Fields): string {
    const { model: usual, models } = this.#options
    const model = fields.optionalText('model') ?? usual
    if (model === undefined) {
      const message = `${fields.what} has no 'model', and the options have none either.`
      throw refused('INPUT_INVALID', message)
    }
    if (!models || model === usual || models.includes(model)) return model
    const message = `the model '${model}' is not one of those allowed: ${models.join(', ')}. Add it to 'models' of the options if it should be.`
    throw refused('MODEL_REFUSED', message, { model })
  }

  #requestOf(fields: Fields, model: string): Plain {
    const temperature = fields.optionalNumber('temperature', 0, 2)
    const maxTokens = fields.optionalCount('maxTokens', Number.MAX_SAFE_INTEGER)
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

function messagesOf(fields: Fields): Plain[] {
  const prompt = fields.optionalText('prompt')
  const given = fields.optionalList('messages')
  if ((prompt === undefined) === (given === undefined)) {
    throw refused('INPUT_INVALID', `${fields.what} needs 'prompt' or 'messages', and not both.`)
  }
  const system = fields.optionalText('system')
  const messages = given?.map(messageOf) ?? [{ role: 'user', content: prompt }]
  if (messages.length === 0) throw fields.wrong('messages', 'at least one message')
  return system === undefined ? messages : [{ role: 'system', content: system }, ...messages]
}

function messageOf(given: unknown, index: number): Plain {
  const fields = new Fields(`messages[${index}]`, given, ['role', 'content'])
  const [role, content] = [fields.get('role'), fields.get('content')]
  if (!roles.includes(role)) throw fields.wrong('role', `one of ${roles.join(', ')}`)
  if (typeof content === 'string' || Array.isArray(content)) return { role, content }
  throw fields.wrong('content', 'a text or a list of parts')
}

function formatOf(fields: Fields): Plain | undefined {
  const format = fields.get('responseFormat')
  if (format === undefined || format === 'text') return undefined
  if (format === 'json') return { type: 'json_object' }
  if (isPlain(format)) return format
  throw wrong(`'responseFormat' of ${fields.what}`, format, "'text', 'json' or an object")
}
