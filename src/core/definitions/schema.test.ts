import { expect, test } from 'vitest'
import { activity } from './activity.ts'
import { signal } from './messages.ts'
import { parse, parseNow, type Schema, type SchemaIssue, typed } from './schema.ts'
import { workflow } from './workflow.ts'

function refusing(...issues: SchemaIssue[]): Schema {
  return { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } }
}

const what = 'the input of it'

test('an error tells every issue with its path, up to a limit, and has all of them as details', async () => {
  const one = refusing({ message: 'bad', path: ['a', 0, { key: 'b' }, Symbol('c')] })
  await expect(parse(one, 1, what)).rejects.toMatchObject({
    message: 'the input of it does not fit its schema: a.0.b.Symbol(c): bad',
    details: { issues: [{ message: 'bad', path: ['a', 0, 'b', 'Symbol(c)'] }] },
  })
  const many = Array.from({ length: 12 }, (_, n) => ({ message: `${n}` }))
  const error: unknown = await parse(refusing(...many), 1, what).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ message: expect.stringMatching(/: 0; 1; .*; 9; and 2 more$/) })
  expect(error).toMatchObject({ details: { issues: { length: 12 } } })
  await expect(parse(refusing(), 1, what)).rejects.toThrow('the schema gives no reason')
})

test('a schema that waits gives nothing at once, and its refusal is nobody’s', async () => {
  const validate = async (): Promise<never> => {
    throw new Error('unheard')
  }
  const waiting: Schema = { '~standard': { version: 1, vendor: 'test', validate } }
  expect(parseNow(waiting, 1, what)).toBeUndefined()
  expect(parseNow(typed(), 1, what)).toEqual({ value: 1 })
})

test('typed<T>() checks nothing, and is not kept', () => {
  const options = { input: typed<number>(), output: typed<number>() }
  expect(workflow('w', options, async (_ctx, n) => n).schemas).toEqual({})
  expect(signal('s', typed<number>())).toEqual({ is: 'signal', name: 's' })
})

test('the handler of an activity is its function between its schemas', async () => {
  const text: Schema<number, string> = {
    '~standard': { version: 1, vendor: 'test', validate: (n) => ({ value: `<${String(n)}>` }) },
  }
  const quoted = activity('quoted', { input: text }, async (given) => given)
  expect(await quoted.handler(5, {} as never)).toBe('<5>')
})

test('what is no schema is refused where it is defined', () => {
  const wrong = { parse: () => 1 } as unknown as Schema<number>
  const refusal = { code: 'DEFINITION_INVALID', message: expect.stringContaining('typed<T>()') }
  const definitions = [
    () => workflow('w', { input: wrong }, async () => 1),
    () => workflow.declare('w', { input: typed<number>(), output: wrong }),
    () => activity('a', { output: wrong }, async () => 1),
    () => activity.declare('a', { input: wrong, output: wrong }),
    () => signal('s', wrong),
  ]
  for (const define of definitions) expect(define).toThrow(expect.objectContaining(refusal))
  expect(() => signal('s', wrong)).toThrow("the schema of signal 's' has no '~standard'.validate")
})
