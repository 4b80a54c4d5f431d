import { describe, expect, test } from 'vitest'
import { AssertionFailure } from '../../core/base/assert.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { slotsBetween, type Timing, timingOf } from './timing.ts'

/** The first slots after an instant, as 2025-01-01T00:00Z. */
function first(count: number, timing: Timing, after: string): string[] {
  const slots = timingOf(timing)
  const found: string[] = []
  let next = slots.next(Date.parse(after))
  while (next !== undefined && found.length < count) {
    found.push(new Date(next).toISOString().replace(':00.000', ''))
    next = slots.next(next)
  }
  return found
}

/** From Wednesday, 1 January 2025, as 'month-day hour:minute'. */
function since2025(count: number, cron: string): string[] {
  return first(count, { cron }, '2024-12-31T23:59:59.999Z').map((each) => each.slice(5, 16).replace('T', ' '))
}

describe('T3: cron syntax', () => {
  test.each<[string, string[]]>([
    ['* * * * *', ['01-01 00:00', '01-01 00:01', '01-01 00:02']],
    ['*/20 * * * *', ['01-01 00:00', '01-01 00:20', '01-01 00:40', '01-01 01:00']],
    // Steps begin anew with each hour.
    ['*/25 * * * *', ['01-01 00:00', '01-01 00:25', '01-01 00:50', '01-01 01:00']],
    ['*/60 * * * *', ['01-01 00:00', '01-01 01:00']],
    ['5 * * * *', ['01-01 00:05', '01-01 01:05']],
    ['05 09 * * *', ['01-01 09:05', '01-02 09:05']],
    ['58-59 * * * *', ['01-01 00:58', '01-01 00:59', '01-01 01:58']],
    ['10-30/10 * * * *', ['01-01 00:10', '01-01 00:20', '01-01 00:30', '01-01 01:10']],
    ['3-3/2 * * * *', ['01-01 00:03', '01-01 01:03']],
    ['30,10,10,20 * * * *', ['01-01 00:10', '01-01 00:20', '01-01 00:30', '01-01 01:10']],
    ['1,*/30,8-9 * * * *', ['01-01 00:00', '01-01 00:01', '01-01 00:08', '01-01 00:09']],
    ['0 9-17/4 * * *', ['01-01 09:00', '01-01 13:00', '01-01 17:00', '01-02 09:00']],
    ['0 0 1,15 * *', ['01-01 00:00', '01-15 00:00', '02-01 00:00']],
    ['0 0 31 * *', ['01-31 00:00', '03-31 00:00', '05-31 00:00', '07-31 00:00', '08-31 00:00']],
    ['0 0 1 JUL *', ['07-01 00:00', '07-01 00:00']],
    ['0 0 1 jan,Oct-DEC *', ['01-01 00:00', '10-01 00:00', '11-01 00:00', '12-01 00:00']],
    ['0 0 1 */6 *', ['01-01 00:00', '07-01 00:00']],
    ['0 0 * * 0', ['01-05 00:00', '01-12 00:00']],
    ['0 0 * * 7', ['01-05 00:00', '01-12 00:00']],
    ['0 0 * * sun', ['01-05 00:00', '01-12 00:00']],
    ['0 0 * * 5-7', ['01-03 00:00', '01-04 00:00', '01-05 00:00', '01-10 00:00']],
    ['0 0 * * FRI-SUN', ['01-03 00:00', '01-04 00:00', '01-05 00:00', '01-10 00:00']],
    ['0 0 * * 0-1', ['01-05 00:00', '01-06 00:00', '01-12 00:00']],
    ['0 0 * * 7-1', ['01-05 00:00', '01-06 00:00', '01-12 00:00']],
    ['0 0 * * SUN-MON', ['01-05 00:00', '01-06 00:00', '01-12 00:00']],
    ['0 0 * * SUN-SUN', ['01-05 00:00', '01-12 00:00']],
    ['0 0 * * 1-7/2', ['01-01 00:00', '01-03 00:00', '01-05 00:00', '01-06 00:00']],
    ['0 0 * * */2', ['01-02 00:00', '01-04 00:00', '01-05 00:00', '01-07 00:00']],
    ['0 9 * * MON-FRI', ['01-01 09:00', '01-02 09:00', '01-03 09:00', '01-06 09:00']],
    ['  0\t9  * * *  ', ['01-01 09:00', '01-02 09:00']],
    ['@hourly', ['01-01 00:00', '01-01 01:00']],
    ['@daily', ['01-01 00:00', '01-02 00:00']],
    ['@midnight', ['01-01 00:00', '01-02 00:00']],
    ['@weekly', ['01-05 00:00', '01-12 00:00']],
    ['@Monthly', ['01-01 00:00', '02-01 00:00']],
    ['@yearly', ['01-01 00:00', '01-01 00:00']],
    [' @annually ', ['01-01 00:00', '01-01 00:00']],
  ])('%s', (cron, expected) => {
    expect(since2025(expected.length, cron)).toEqual(expected)
  })

  test('a date and a weekday that are both restricted: either will do', () => {
    expect(since2025(4, '0 0 13 * FRI')).toEqual(['01-03 00:00', '01-10 00:00', '01-13 00:00', '01-17 00:00'])
  })

  test.each(['0 0 */2 * MON', '0 0 */2,4 * MON'])('a star with a step is open: %s', (cron) => {
    expect(since2025(2, cron)).toEqual(['01-13 00:00', '01-27 00:00'])
  })

  test('the first Sunday of the month is a stepped star with a range of dates', () => {
    expect(since2025(2, '0 0 1-7 * */7')).toEqual(['01-05 00:00', '02-02 00:00'])
  })
})

describe('T3: what cron refuses', () => {
  test.each<[unknown, RegExp]>([
    ['', /^invalid timing: cron "" cannot be read: it is empty; expected 5: minute, hour/],
    ['   ', /it is empty/],
    ['*', /it has 1 field;/],
    ['* * * *', /it has 4 fields; expected 5/],
    ['0 * * * * *', /it has 6 fields; expected 5: .*for less than a minute use every/],
    ['* * * * * * *', /it has 7 fields; expected 5/],
    ['60 * * * *', /its minute '60' is wrong: 60 is not from 0 to 59; expected 0-59, such as/],
    ['0 24 * * *', /cron "0 24 \* \* \*" .*its hour '24' is wrong: 24 is not from 0 to 23/],
    ['0 0 0 * *', /its day of month '0' is wrong: 0 is not from 1 to 31/],
    ['0 0 32 * *', /its day of month '32' is wrong/],
    ['0 0 1 13 *', /its month '13' is wrong: 13 is not from 1 to 12; expected 1-12 or JAN-DEC/],
    ['0 0 1 0 *', /its month '0' is wrong/],
    ['0 0 * * 8', /its day of week '8' is wrong: 8 is not from 0 to 7; expected 0-7 or SUN-SAT/],
    ['99999999999999999999 * * * *', /is not from 0 to 59/],
    ['-1 * * * *', /a number is missing/],
    ['5- * * * *', /a number is missing/],
    ['1-2-3 * * * *', /'1-2-3' has more than one '-'/],
    ['1.5 * * * *', /'1.5' is not a number;/],
    ['1e1 * * * *', /'1e1' is not a number;/],
    ['+1 * * * *', /'\+1' is not a number;/],
    ['١ * * * *', /'١' is not a number;/],
    ['MON * * * *', /its minute 'MON' is wrong: 'MON' is not a number;/],
    ['0 0 * * MONDAY', /'MONDAY' is not a number or a name/],
    ['0 0 * * JAN', /its day of week 'JAN' is wrong/],
    ['0 0 ? * *', /its day of month '\?' is wrong/],
    ['0 0 L * *', /its day of month 'L' is wrong/],
    ['0 0 15W * *', /'15W' is not a number/],
    ['0 0 * * FRI#2', /'FRI#2' is not a number or a name/],
    ['1,,2 * * * *', /a value is missing before or after a comma/],
    [', * * * *', /a value is missing before or after a comma/],
    ['1, 2 * * * *', /it has 6 fields/],
    ['*/0 * * * *', /the step is 0/],
    ['*/ * * * *', /a step is missing/],
    ['/5 * * * *', /a number is missing/],
    ['*/x * * * *', /step 'x' is not a number/],
    ['*/-1 * * * *', /step '-1' is not a number/],
    ['*/2/3 * * * *', /'\*\/2\/3' has more than one '\/'/],
    ['*/90 * * * *', /the step 90 is larger than 60; .* use every/],
    ['0 0 * * */8', /the step 8 is larger than 7/],
    ['5/15 * * * *', /'5\/15' has no end; write '5-59\/15'/],
    ['** * * * *', /'\*\*' is not a number/],
    ['*-5 * * * *', /'\*' is not a number/],
    ['0 22-2 * * *', /'22-2' runs backwards; split it, such as '22-23,0-2'/],
    ['0 0 * * FRI-MON', /runs backwards; split it, such as 'FRI-SAT,SUN-MON'/],
    ['0 0 1 NOV-FEB *', /runs backwards; split it, such as 'NOV-DEC,JAN-FEB'/],
    ['0 0 * * 5-0', /'5-0' runs backwards/],
    ['@reboot', /'@reboot' is not known; expected one of @hourly, @daily/],
    ['@every 5m', /'@every' is followed by more fields; expected it alone/],
    ['@', /'@' is not known/],
    [['* * * * *', '61 * * * *'], /cron\[1\] "61 \* \* \* \*" cannot be read/],
    [[], /cron is an empty list/],
    [[5], /cron\[0\] is 5; expected text/],
    [Array.from({ length: 101 }, () => '* * * * *'), /101 expressions; expected at most 100/],
    [5, /cron is 5; expected text such as '30 9/],
    [null, /cron is null/],
    [{}, /cron is \(object\)/],
  ])('%j', (cron, message) => {
    expect(refused({ cron } as Timing)).toMatch(message)
  })

  test.each([
    ['(', 1_000_000],
    ['1,', 500_000],
    ['* ', 500_000],
    ['1-', 500_000],
  ])('a megabyte of %s is refused by its length', (piece, times) => {
    const message = refused({ cron: piece.repeat(times) })
    expect(message).toContain(`it has 1000000 characters; expected at most ${limits.cronLengthMax}`)
    expect(message.length).toBeLessThan(300)
  })
})

test.each<[unknown, RegExp]>([
  [undefined, /undefined has neither cron nor every/],
  [null, /neither cron nor every/],
  ['* * * * *', /"\* \* \* \* \*" has neither cron nor every/],
  [['* * * * *'], /neither cron nor every/],
  [{}, /neither cron nor every/],
  [{ cron: undefined }, /neither cron nor every/],
  [{ cron: '* * * * *', every: '1m' }, /use timings: \[\{ cron \}, \{ every \}\]/],
  [{ every: ['1m', '1h'] }, /every is a list; for several intervals, use timings: \[\{ every \}, …\]/],
  [{ timings: [] }, /timings is a list of 0; expected a list of 1 to 20 timings/],
  [{ timings: Array.from({ length: 21 }, () => ({ every: '1m' })) }, /timings is a list of 21/],
  [{ timings: { every: '1m' } }, /timings is \(object\); expected a list/],
  [{ timings: [{ every: '1m' }], timeZone: 'UTC' }, /'timeZone' is beside timings; move it into/],
  [{ timings: [{ every: '1m' }, { every: '1ms' }] }, /timings\[1\]\.every is 1 ms/],
  [{ timings: [{ cron: '@daily', timeZone: 'X' }] }, /timings\[0\]\.timeZone "X" is not known/],
  [{ timings: [{ cron: ['* * *'] }] }, /timings\[0\]\.cron\[0\] "\* \* \*" cannot be read/],
  [{ timings: [{ every: '1h', offset: 'x' }] }, /invalid timings\[0\].offset "x"/],
  [{ timings: [{ timings: [{ every: '1m' }] }] }, /timings\[0\] \(object\) has neither cron nor/],
  [{ timings: ['@daily'] }, /timings\[0\] "@daily" has neither cron nor every/],
  [{ cron: '* * * * *', timezone: 'UTC' }, /'timezone' .* expected only cron and timeZone/],
  [{ every: '1m', timeZone: 'UTC' }, /'timeZone' .* expected only every and offset/],
  [{ cron: '* * * * *', timeZone: 'Mars/Base' }, /timeZone "Mars\/Base" is not known; expected an/],
  [{ cron: '* * * * *', timeZone: '' }, /timeZone "" is not known/],
  [{ cron: '* * * * *', timeZone: 5 }, /timeZone 5 is not known/],
  [{ cron: '* * * * *', timeZone: null }, /timeZone null is not known/],
  [{ cron: '* * * * *', timeZone: 'x'.repeat(1_000_000) }, /x…" is not known/],
  [{ every: '999ms' }, /every is 999 ms; expected at least 1000 ms/],
  [{ every: 0 }, /every is 0 ms/],
  [{ every: '1 hour' }, /invalid every "1 hour"/],
  [{ every: {} }, /invalid every \(object\)/],
  [{ every: '1h', offset: '-5m' }, /invalid offset "-5m"/],
])('refused: %j', (timing, message) => {
  expect(refused(timing as Timing)).toMatch(message)
})

function refused(timing: Timing): string {
  try {
    timingOf(timing)
  } catch (error) {
    if (error instanceof PawlError && error.code === 'INPUT_INVALID') return error.message
    throw error
  }
  throw new Error('it was not refused')
}

test('what is undefined is not given', () => {
  const timing = { cron: undefined, every: '1m', offset: undefined } as unknown as Timing
  expect(timingOf(timing).next(0)).toBe(60_000)
})

describe('rare dates', () => {
  test('29 February, also where a century leaves it out', () => {
    expect(first(2, { cron: '0 0 29 2 *' }, '2025-01-01T00:00Z')).toEqual(['2028-02-29T00:00Z', '2032-02-29T00:00Z'])
    expect(first(1, { cron: '0 0 29 2 *' }, '2096-02-29T00:00Z')).toEqual(['2104-02-29T00:00Z'])
    expect(first(1, { cron: '0 0 29 2 *' }, '1996-02-29T00:00Z')).toEqual(['2000-02-29T00:00Z'])
  })

  test.each([
    ['0 0 30 2 *', 'UTC'],
    ['0 0 31 4,6,9,11 *', 'Europe/Berlin'],
    // In New York just this hour is left out on just these days, and what is no fixed time goes with it.
    ['*/5 2 8-14 3 */7', 'America/New_York'],
  ])('T3: %s in %s never is', (cron, timeZone) => {
    expect(timingOf({ cron, timeZone }).next(Date.UTC(2025, 0, 1))).toBeUndefined()
  })

  test('a year ahead is no more work than a day', () => {
    const slots = timingOf({ cron: '0 0 31 12 *', timeZone: 'Europe/Berlin' })
    const before = performance.now()
    for (let day = 0; day < 1_000; day++) slots.next(Date.UTC(2025, 0, 1 + day))
    expect(performance.now() - before).toBeLessThan(1_000)
  })

  test('there is no slot after the year 9999, and nothing to ask for', () => {
    expect(timingOf({ every: '1h' }).next(Date.UTC(9999, 11, 31, 23))).toBeUndefined()
    expect(timingOf({ cron: '@hourly' }).next(Date.UTC(9999, 11, 31, 23))).toBeUndefined()
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15]) {
      expect(() => timingOf({ every: '1h' }).next(wrong)).toThrow(AssertionFailure)
    }
  })
})

describe('every', () => {
  test.each<[Timing, string, string[]]>([
    [{ every: '15m' }, '2025-01-01T00:00Z', ['2025-01-01T00:15Z', '2025-01-01T00:30Z']],
    [{ every: '15m' }, '2025-01-01T00:14:59.999Z', ['2025-01-01T00:15Z']],
    [{ every: '1h', offset: '5m' }, '2025-01-01T00:00Z', ['2025-01-01T00:05Z', '2025-01-01T01:05Z']],
    [{ every: '1h', offset: '65m' }, '2025-01-01T00:05Z', ['2025-01-01T01:05Z']],
    [{ every: '1d', offset: '9h' }, '2025-03-29T10:00Z', ['2025-03-30T09:00Z']],
    // The epoch was a Thursday.
    [{ every: 'P1W' }, '2025-01-01T00:00Z', ['2025-01-02T00:00Z', '2025-01-09T00:00Z']],
    [{ every: '90m' }, '1969-12-31T23:59Z', ['1970-01-01T00:00Z', '1970-01-01T01:30Z']],
  ])('%j after %s', (timing, after, expected) => {
    expect(first(expected.length, timing, after)).toEqual(expected)
  })

  test('a second is the least', () => {
    expect(timingOf({ every: '1s' }).next(1_500.5)).toBe(2_000)
  })
})

test('T3: several expressions are due when any of them is', () => {
  const cron = ['0 9 * * MON-FRI', '0 11 * * SAT,SUN', '0 9 * * MON', '0 0 30 2 *']
  expect(first(4, { cron, timeZone: 'UTC' }, '2025-01-02T12:00Z')).toEqual([
    '2025-01-03T09:00Z',
    '2025-01-04T11:00Z',
    '2025-01-05T11:00Z',
    '2025-01-06T09:00Z',
  ])
})

test('api gap 11: several timings are due when any of them is, once where they meet', () => {
  const timings = [
    { cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
    { cron: '0 9 * * *', timeZone: 'America/New_York' },
    { every: '12h', offset: '2h' },
    { every: '1d', offset: '8h' },
    { cron: '0 0 30 2 *' },
  ] as const
  // 9 o'clock in Berlin is 8 in UTC, which the fourth has, too; and in New York 14, which the third has.
  expect(first(4, { timings }, '2025-01-01T12:00Z')).toEqual([
    '2025-01-01T14:00Z',
    '2025-01-02T02:00Z',
    '2025-01-02T08:00Z',
    '2025-01-02T14:00Z',
  ])
  // In between only New York has summer time: its 9 o'clock and Berlin's are five hours apart.
  expect(first(4, { timings }, '2025-03-10T12:00Z')).toEqual([
    '2025-03-10T13:00Z',
    '2025-03-10T14:00Z',
    '2025-03-11T02:00Z',
    '2025-03-11T08:00Z',
  ])
  expect(timingOf({ timings: [{ cron: '0 0 30 2 *' }] }).next(0)).toBeUndefined()
})

describe('slotsBetween', () => {
  const hourly = timingOf({ every: '1h' })
  const hour = 3_600_000

  test.each<[number, number, number, number[], boolean]>([
    [0, 3, 10, [1, 2, 3], false],
    [0, 3, 3, [1, 2, 3], false],
    [0, 3, 2, [1, 2], true],
    [0, 3, 0, [], true],
    [0.5, 2.5, 10, [1, 2], false],
    [3, 3, 10, [], false],
    [3, 0, 10, [], false],
  ])('(%d, %d] of hours, at most %d', (from, to, limit, expected, more) => {
    const slots = expected.map((each) => each * hour)
    expect(slotsBetween(hourly, from * hour, to * hour, limit)).toEqual({ slots, more })
  })

  test('ends with the slots', () => {
    const never = timingOf({ cron: '0 0 30 2 *' })
    expect(slotsBetween(never, 0, 1e13, 5)).toEqual({ slots: [], more: false })
  })
})
