import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { json, refusal, serve, stepContext } from '../../../test/support/handlers.ts'
import { type LlmInput, type LlmOptions, llmService } from './llm-service.ts'

const completion = {
  id: 'chatcmpl-1',
  model: 'gpt-4o-2026-08-06',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 2_000, completion_tokens: 500, total_tokens: 2_500 },
}

/** A server of ours that speaks as OpenAI's does, as far as that is documented. */
async function model(answer: RequestListener = json(completion)) {
  const server = await serve(answer)
  const complete = (input: LlmInput, options: Partial<LlmOptions> = {}) =>
    llmService({
      baseUrl: `${server.origin}/v1`,
      apiKey: 'sk-secret',
      model: 'gpt-4o',
      ...options,
    }).handler(input, stepContext())
  const sent = () => JSON.parse(server.seen.at(-1)?.body ?? 'null') as unknown
  return { server, complete, sent }
}

const page: RequestListener = (_request, response) => response.end('<html>')

describe('A12: llm_service', () => {
  test('asks for one completion, and gives text, usage and what it cost', async () => {
    const { server, complete, sent } = await model()
    const prices = { 'gpt-4o': { inputPerMillion: 2.5, outputPerMillion: 10 } }
    const output = await complete(
      { prompt: 'Hi', system: 'Be kind.', temperature: 0, maxTokens: 100, responseFormat: 'json' },
      { prices },
    )
    expect(output).toEqual({
      text: 'Hello!',
      finishReason: 'stop',
      model: 'gpt-4o-2026-08-06',
      usage: { inputTokens: 2_000, outputTokens: 500, totalTokens: 2_500 },
      cost: 0.01,
    })
    expect(server.seen[0]).toMatchObject({ method: 'POST', url: '/v1/chat/completions' })
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer sk-secret',
      'content-type': 'application/json',
      'idempotency-key': 'run:1:step#1',
    })
    expect(sent()).toEqual({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hi' },
      ],
      stream: false,
      temperature: 0,
      max_tokens: 100,
      response_format: { type: 'json_object' },
    })
  })

  test('takes messages, another model, a schema for the answer, and what servers differ in', async () => {
    const { server, complete, sent } = await model()
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: 'Ho' },
    ] as const
    const responseFormat = { type: 'json_schema', json_schema: { name: 'a' } }
    await complete(
      { messages, model: 'small', maxTokens: 5, responseFormat },
      {
        baseUrl: `${server.origin}/deployments/a/?api-version=1`,
        headers: { 'api-key': async () => 'azure-secret' },
        maxTokensField: 'max_completion_tokens',
      },
    )
    expect(server.seen[0]?.url).toBe('/deployments/a/chat/completions?api-version=1')
    expect(server.seen[0]?.headers['api-key']).toBe('azure-secret')
    expect(sent()).toEqual({
      ...{ model: 'small', messages, stream: false },
      max_completion_tokens: 5,
      response_format: responseFormat,
    })
  })

  test('the price is that of the model asked for, else of the one that answered, else unknown', async () => {
    const { complete } = await model()
    const price = (inputPerMillion: number) => ({ inputPerMillion, outputPerMillion: 0 })
    const costs = [
      { 'gpt-4o': price(1), 'gpt-4o-2026-08-06': price(2) },
      { 'gpt-4o-2026-08-06': price(2) },
      { other: price(3) },
    ].map(async (prices) => (await complete({ prompt: 'Hi' }, { prices })).cost)
    expect(await Promise.all(costs)).toEqual([0.002, 0.004, undefined])
    expect((await complete({ prompt: 'Hi', model: 'constructor' }, { prices: {} })).cost).toBeUndefined()
  })

  const odd: readonly (readonly [string, object, object])[] = [
    ['no content', { choices: [{ message: { content: null } }] }, { text: '', finishReason: 'unknown' }],
    ['parts', { choices: [{ message: { content: [{ type: 'text', text: 'a' }, { type: 'x' }] } }] }, { text: 'a' }],
    ['no usage and no model', { ...completion, usage: null, model: undefined }, { model: 'gpt-4o' }],
  ]
  test.each(odd)('an answer with %s', async (_name, answer, expected) => {
    const { complete } = await model(json(answer))
    expect(await complete({ prompt: 'Hi' })).toMatchObject(expected)
  })

  test.each([
    ['an error as a success', json({ error: { message: 'overloaded' } })],
    ['no choice', json({ choices: [] })],
    ['a page', page],
  ])('%s is no completion, and is not paid for again', async (_name, answer) => {
    const { complete } = await model(answer)
    const refused = await refusal(complete({ prompt: 'Hi' }))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'RESPONSE_INVALID' })
    expect(refused.details['body']).toMatch(/error|choices|html/)
  })

  test('a limit of the server is waited for; a wrong key is not tried again', async () => {
    const { complete } = await model((_request, response) => {
      response.writeHead(429, { 'retry-after': '20' }).end()
    })
    expect(await refusal(complete({ prompt: 'Hi' }))).toMatchObject({
      kind: 'retryable',
      afterMs: 20_000,
    })
    const locked = await model(json({ error: 'Incorrect API key' }, 401))
    const refused = await refusal(locked.complete({ prompt: 'Hi' }))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'STATUS_REFUSED' })
    expect(refused.message).not.toContain('sk-secret')
  })

  test('is not led elsewhere with the key, and does not wait for ever', async () => {
    const thief = await serve(json(completion))
    const { complete } = await model((_request, response) => {
      response.writeHead(307, { location: thief.origin }).end()
    })
    expect(await refusal(complete({ prompt: 'Hi' }))).toMatchObject({ code: 'REDIRECT_REFUSED' })
    expect(thief.seen).toEqual([])
    const silent = await model(() => {})
    expect(await refusal(silent.complete({ prompt: 'Hi' }, { timeout: '50ms' }))).toMatchObject({
      kind: 'retryable',
      code: 'TIMED_OUT',
    })
  })

  const wrong: readonly (readonly [string, unknown, string, RegExp])[] = [
    ['neither', {}, 'INPUT_INVALID', /must have either 'prompt' or 'messages'/],
    ['both', { prompt: 'a', messages: [] }, 'INPUT_INVALID', /either 'prompt' or 'messages'. Give exactly one/],
    ['no message', { messages: [] }, 'INPUT_INVALID', /at least one/],
    [
      'a role nobody has',
      { messages: [{ role: 'root', content: 'a' }] },
      'INPUT_INVALID',
      /`role` .*expected 'system'/,
    ],
    ['no text', { messages: [{ role: 'user' }] }, 'INPUT_INVALID', /`content` of `messages.0`/],
    ['too hot', { prompt: 'a', temperature: 3 }, 'INPUT_INVALID', /from 0 to 2/],
    ['half a token', { prompt: 'a', maxTokens: 1.5 }, 'INPUT_INVALID', /whole number/],
    ['a format nobody knows', { prompt: 'a', responseFormat: 'xml' }, 'INPUT_INVALID', /'text', 'json'/],
    [
      'a model that is not allowed',
      { prompt: 'a', model: 'huge' },
      'MODEL_REFUSED',
      /'huge' is not allowed; expected one of: small/,
    ],
    ['too much', { prompt: 'a'.repeat(1_100_000) }, 'REQUEST_TOO_LARGE', /the prompt has 11/],
  ]
  test.each(wrong)('the input is checked: %s', async (_name, input, code, message) => {
    const { server, complete } = await model()
    const refused = await refusal(complete(input as LlmInput, { models: ['small'] }))
    expect(refused).toMatchObject({ kind: 'permanent', code })
    expect(refused.message).toMatch(message)
    expect(server.seen).toEqual([])
  })

  test('options that cannot be are refused at once, and an input needs a model from somewhere', async () => {
    for (const baseUrl of ['', 'api.test/v1', 'ftp://a/', 'https://user:pw@a.test/v1']) {
      expect(() => llmService({ baseUrl })).toThrow(/'baseUrl' of llm_service is not a URL pawl can use/)
    }
    const bare = llmService({ baseUrl: 'https://a.test/v1' })
    const refused = await refusal(bare.handler({ prompt: 'Hi' }, stepContext()))
    expect(refused.message).toMatch(/has no 'model'/)
  })
})
