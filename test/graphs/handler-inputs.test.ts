// Graphs given as data whose nodes use built-in handlers: what is wrong with the input of a handler is found when the graph
// is submitted, as far as no template decides it.
import { open, PawlError } from 'pawl'
import { handlers } from 'pawl/handlers'
import { describe, expect, test } from 'vitest'
import { callInput } from '../../src/addons/handlers/call-external-service.ts'
import { llmInput } from '../../src/addons/handlers/llm-service.ts'
import { emailInput } from '../../src/addons/handlers/notify-email.ts'
import { webhookInput } from '../../src/addons/handlers/notify-webhook.ts'
import type { Json } from '../../src/core/base/value.ts'
import { misspelt } from '../support/misspelt.ts'

const all = handlers({
  llm: { baseUrl: 'https://llm.test/v1' },
  email: { smtp: 'smtps://mail.test', from: 'a@b.test', templates: {} },
})

const fit = {
  call_external_service: { url: 'https://a.test' },
  llm_service: { prompt: 'hello' },
  'notify.webhook.v1': { url: 'https://a.test', payload: null },
  'notify.email.v1': { template: 'welcome', to: 'a@b.test' },
} as const
const inputs = {
  call_external_service: callInput,
  llm_service: llmInput,
  'notify.webhook.v1': webhookInput,
  'notify.email.v1': emailInput,
} as const
const names = Object.keys(fit) as (keyof typeof fit)[]

interface Problem {
  readonly path: string
  readonly code: string
  readonly message: string
}

async function problemsOf(nodes: Json): Promise<readonly Problem[]> {
  await using engine = await open('memory:', { activities: all })
  try {
    await engine.submit({ name: 'g', nodes })
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    return ((error as PawlError).details as { readonly problems: readonly Problem[] }).problems
  }
}

const node = (handler: string, input: Json): Json => [{ id: 'a', handler, config: input }]

describe.each(names)('api D7: the input of %s in a graph', (handler) => {
  const known = Object.keys(inputs[handler])

  test('is taken as it should be, and with templates whatever they will give', async () => {
    expect(await problemsOf(node(handler, fit[handler]))).toEqual([])
    expect(await problemsOf(node(handler, '{{ input }}'))).toEqual([])
    const templates = Object.fromEntries(known.map((name) => [name, '{{ input.x }}']))
    expect(await problemsOf(node(handler, templates))).toEqual([])
  })

  test('a misspelt field is one problem, with its place and the field that was meant', async () => {
    for (const name of known)
      for (const wrong of misspelt(name).filter((each) => !known.includes(each))) {
        const found = await problemsOf(node(handler, { ...fit[handler], [wrong]: '{{ input.x }}' }))
        expect(found).toMatchObject([{ path: `nodes[0].config.${wrong}`, code: 'UNKNOWN_FIELD' }])
        if (wrong.length > 2) expect(found[0]?.message).toMatch(/did you mean `\w+`\?|It has `/)
      }
  })

  test('a value of the wrong kind is one problem, with what the field takes', async () => {
    for (const [name, { accepts }] of Object.entries<(typeof callInput)['url']>(inputs[handler] as never))
      for (const wrong of [null, -1, '', [], [[]], { a: [{}] }] as const) {
        let fits = false
        try {
          fits = accepts(wrong, { name, of: 'it' })
        } catch {}
        const found = await problemsOf(node(handler, { ...fit[handler], [name]: wrong }))
        const problem = { path: `nodes[0].config.${name}`, code: 'INVALID_VALUE' }
        expect(found).toMatchObject(fits ? [] : [problem])
      }
  })

  test('a field that is missing is one problem; so is what is no object', async () => {
    const needed = Object.entries<{ readonly isRequired?: true }>(inputs[handler])
    for (const [name] of needed.filter(([, { isRequired }]) => isRequired)) {
      const { [name as never]: _, ...rest } = fit[handler]
      const found = await problemsOf(node(handler, rest))
      expect(found).toMatchObject([{ path: 'nodes[0].config', code: 'MISSING_FIELD' }])
      expect(found[0]?.message).toContain(`\`${name}\` is missing`)
    }
    expect(await problemsOf(node(handler, [1]))).toMatchObject([{ code: 'WRONG_TYPE' }])
  })

  test('what undoes a step is checked, too', async () => {
    const undone = {
      id: 'a',
      handler,
      config: fit[handler],
      compensate: { handler, with: { no: 1 } },
    }
    const found = await problemsOf([undone])
    expect(found[0]).toMatchObject({ path: 'nodes[0].compensate.with.no', code: 'UNKNOWN_FIELD' })
  })
})
