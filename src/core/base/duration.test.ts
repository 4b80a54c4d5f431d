import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PawlError } from './errors.ts'
import { limits } from './limits.ts'
import { type Duration, formatDuration, milliseconds } from './time.ts'

test.each<[Duration, number]>([
  [0, 0],
  [-0, 0],
  [250, 250],
  [0.1, 1],
  ['0s', 0],
  ['1ms', 1],
  ['0.5ms', 1],
  ['10s', 10_000],
  ['10m', 600_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['1w', 604_800_000],
  ['0.07m', 4200],
  ['1.0001s', 1001],
  ['007s', 7000],
  ['PT10M', 600_000],
  ['PT1H30M', 5_400_000],
  ['PT1H5S', 3_605_000],
  ['PT0.25S', 250],
  ['PT1.5H', 5_400_000],
  ['P2D', 172_800_000],
  ['P2DT6H', 194_400_000],
  ['P2W', 1_209_600_000],
  ['P0.5D', 43_200_000],
  ['36600d', limits.durationMsMax],
])('%s is %d ms', (duration, ms) => {
  expect(milliseconds(duration)).toBe(ms)
})

test.each<[unknown, RegExp]>([
  ['', /empty/],
  ['P', /empty/],
  ['PT', /nothing follows/],
  ['P1DT', /nothing follows/],
  ['-5s', /sign/],
  ['+5s', /sign/],
  ['-PT5S', /sign/],
  ['PT-5S', /number is missing/],
  ['P1Y', /years/],
  ['P1M', /months/],
  ['P1DT1Y', /years/],
  ['1y', /unknown unit 'y'/],
  // users, wording 16
  ['5 minutes', /^invalid timeout "5 minutes": unknown unit 'minutes'; expected milliseconds/],
  ['1 s', /it has a space in it/],
  [' 1s', /begin with a number/],
  ['1s ', /it has a space in it/],
  ['PT1S ', /number is missing before ' '/],
  ['10', /no unit/],
  ['s', /begin with a number/],
  ['.5s', /begin with a number/],
  ['5.s', /unknown unit '.s'/],
  ['1.2.3s', /unknown unit/],
  ['1e3s', /unknown unit/],
  ['0x10s', /unknown unit/],
  ['1S', /unknown unit 'S'/],
  ['Infinitys', /begin with a number/],
  ['1h30m', /unknown unit/],
  ['PT5', /no unit/],
  ['PT5M1H', /'H' is unknown or out of place/],
  ['PT5M5M', /out of place/],
  ['PT1D', /'D' is unknown or out of place/],
  ['PT1.5H30M', /fraction/],
  ['P1.5DT1H', /fraction/],
  ['P1WT1H', /weeks cannot be combined/],
  ['P1W1D', /out of place/],
  ['P1D1W', /'D' is unknown|out of place/],
  ['PT1HT1M', /more than one/],
  ['pt1h', /begin with a number/],
  ['٣s', /begin with a number/],
  [Number.NaN, /finite/],
  [Number.POSITIVE_INFINITY, /finite/],
  [-1, /negative/],
  [-0.5, /negative/],
  [limits.durationMsMax + 1, /36600 days/],
  ['36601d', /36600 days/],
  [`${'9'.repeat(60)}w`, /36600 days/],
  [null, /neither/],
  [undefined, /neither/],
  [{}, /neither/],
  [10n, /neither/],
])('%s is refused', (duration, problem) => {
  const error = refused(duration)
  expect(error.code).toBe('INPUT_INVALID')
  expect(error.message).toMatch(problem)
  expect(error.message).toMatch(/^invalid timeout /)
  expect(error.message).toContain("'10m', '1.5h', 'PT1H30M'")
})

test('hostile text is answered at once, and shortened in the error', () => {
  const hostile = ['1'.repeat(1e6), `PT${'1H'.repeat(5e5)}`, `P${'.'.repeat(1e6)}`, 'T'.repeat(1e6)]
  for (const text of hostile) {
    const error = refused(text)
    expect(error.message).toMatch(/characters/)
    expect(error.message.length).toBeLessThan(300)
  }
})

test('any text gives whole milliseconds within the limit, or the refusal', () => {
  const likely = fc.string({ unit: fc.constantFrom(...'PTDHMSWdhmsw0159.-+ '.split('')) })
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (text) => {
      try {
        const ms = milliseconds(text as Duration)
        expect(Number.isSafeInteger(ms)).toBe(true)
        expect(ms).toBeGreaterThanOrEqual(0)
      } catch (error) {
        expect(error).toBeInstanceOf(PawlError)
      }
    }),
    { numRuns: 2000 },
  )
})

test.each([
  [0, '0 ms'],
  [250, '250 ms'],
  [1500, '1.5 s'],
  [59_960, '1 min'],
  [600_000, '10 min'],
  [5_400_000, '1.5 h'],
  [172_800_000, '2 d'],
  [limits.durationMsMax, '36600 d'],
  [-1500, '-1.5 s'],
  [Number.POSITIVE_INFINITY, 'Infinity ms'],
])('%d ms reads as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

function refused(duration: unknown): PawlError {
  try {
    milliseconds(duration as Duration, 'timeout')
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    return error as PawlError
  }
  throw new Error(`${String(duration)} was not refused`)
}
