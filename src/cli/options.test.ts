import { expect, test } from 'vitest'
import { parseAttributes, parseFilter, storeIn, suggestedCommand, withCommands } from './options.ts'

test('an attribute is a number or a flag only if it would be written the same way', () => {
  const texts = ['a=1', 'b=-2.5', 'c=true', 'd=01234', 'e=12345678901234567890', 'f=', 'g=x=y']
  const given = texts.reduce((before, text) => parseAttributes(text, before), {})
  expect(given).toEqual({
    a: 1,
    b: -2.5,
    c: true,
    d: '01234',
    e: '12345678901234567890',
    f: '',
    g: 'x=y',
  })
  expect(() => parseAttributes('=x')).toThrow('<name>=<value>')
  expect(texts.reduce((before, text) => parseFilter(text, before), {})).toEqual(given)
})

test('api gap 8: an attribute that is given twice starts a run with a list, and is refused in a filter', () => {
  const texts = ['tags=b', 'n=1', 'tags=a', 'n=true', 'n=1e3', 'one=x']
  const given = texts.reduce((before, text) => parseAttributes(text, before), {})
  expect(given).toEqual({ tags: ['b', 'a'], n: ['1', 'true', '1e3'], one: 'x' })
  expect(() => parseFilter('tags=a', { tags: 'b' })).toThrow("Give 'tags' once")
})

test('a suggested command reaches the store it was found in, and shows no password', () => {
  const at = (store: string): string => suggestedCommand({ store }, 'Look: pawl run -- -x')
  expect(at('sqlite:./pawl.db')).toBe('Look: pawl run -- -x')
  expect(at('sqlite:./my shop.db')).toBe("Look: pawl run --store 'sqlite:./my shop.db' -- -x")
  expect(at('postgres://me:secret@host/db')).toBe("Look: pawl run --store '<the same>' -- -x")
})

test('users stumble 4: where pawl was installed into a project, suggestions say npx', () => {
  const typed = process.argv[1] ?? ''
  try {
    process.argv[1] = '/shop/node_modules/.bin/pawl'
    expect(suggestedCommand({ store: 'sqlite:./pawl.db' }, 'pawl run a')).toBe('npx pawl run a')
    const store = storeIn(['why', 'a', '--store', 'file:./x'])
    const error = 'Upgrade pawl in this process. Run `pawl doctor` to see, or list them: pawl builds'
    expect(withCommands({ store }, error)).toBe(
      'Upgrade pawl in this process. Run `npx pawl doctor --store file:./x` to see, or list them: npx pawl builds --store file:./x',
    )
    expect(storeIn(['why', '--store=file:./y'])).toBe('file:./y')
    process.argv[1] = '/usr/local/bin/pawl'
    expect(suggestedCommand({ store: 'sqlite:./pawl.db' }, 'pawl run a')).toBe('pawl run a')
  } finally {
    process.argv[1] = typed
  }
})
