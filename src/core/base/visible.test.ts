import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PawlError } from './errors.ts'
import { pawlCommand, shellWord } from './shell.ts'
import { quote, visible, visibleJson, visibleLines } from './visible.ts'

const active = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/** Text that is rich in what terminals and shells obey. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b[31m', '\u009b2J', '\u007f', '\u202e', '\u2066', '\u200f', '\u061c'),
      fc.constantFrom("'", '"', '$(id)', '`id`', ';', '&', '|', '\\', '%s', '!', '-x', ' ', '~'),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join('').toWellFormed())

test('faults 3.1, 3.3: nothing that a terminal obeys is left in visible text', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(visible(text)).not.toMatch(active)
      expect(visibleLines(text).replaceAll(/[\n\t]/g, '')).not.toMatch(active)
      expect(quote(text)).not.toMatch(active)
      expect(new PawlError('INPUT_INVALID', text).message.replaceAll(/[\n\t]/g, '')).not.toMatch(active)
    }),
  )
})

test('faults 3.1: JSON says the same with its characters escaped', () => {
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), (value) => {
      const json = visibleJson(JSON.stringify(value))
      expect(json).not.toMatch(active)
      expect(JSON.parse(json)).toEqual(value)
    }),
  )
})

test('what is harmless stays as it is', () => {
  expect(visible("déjà-vu 支払い 🦆 'a' \\u0041")).toBe("déjà-vu 支払い 🦆 'a' \\u0041")
  expect(visible('x\u009b31m\u202e')).toBe('x\\u009b31m\\u202e')
  expect(visibleLines('a\n\tb\r')).toBe('a\n\tb\\u000d')
})

test('faults 3.2: a shell gives back every word of a command as it was', () => {
  const words = fc
    .array(
      hostile.filter((text) => !text.includes('\0') && !text.endsWith('\n')),
      { minLength: 1, maxLength: 20 },
    )
    .map((all) => all.map((text) => text.replaceAll('\n', ' ')))
  fc.assert(
    fc.property(words, (all) => {
      const line = all.map(shellWord).join(' ')
      expect(line).not.toMatch(active)
      const out = execFileSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
      expect(out.split('\0').slice(0, -1)).toEqual(all)
    }),
    { numRuns: 30 },
  )
})

test('a suggested command is as short as it can be', () => {
  expect(pawlCommand('run', ['order-A1'])).toBe('pawl run order-A1')
  expect(pawlCommand('run', ['-x'])).toBe('pawl run -- -x')
  expect(pawlCommand('trigger', ["it's"], { options: { store: 'sqlite:./a b.db' } })).toBe(
    String.raw`pawl trigger --store 'sqlite:./a b.db' 'it'\''s'`,
  )
  expect(shellWord('')).toBe("''")
  expect(shellWord('x\u009b31m')).toBe(String.raw`"$(printf 'x\302\23331m')"`)
})
