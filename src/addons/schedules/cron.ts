// Parses cron expressions: five fields of text become lists of numbers. It accepts what Vixie cron accepts, and refuses
// expressions that would not do what they seem to say.

export interface Cron {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: readonly number[]
  readonly months: readonly number[]
  /** 0 is Sunday. */
  readonly weekdays: readonly number[]
  /** Vixie cron's rule: if both date and weekday are restricted, a day needs to match only one of them. */
  readonly eitherDay: boolean
  /** True for fixed times of day, false for an interval. It matters when the clocks change. */
  readonly fixed: boolean
}

/** The parsed expression, or what is wrong with it and what was expected. */
export function parseCron(text: string): Cron | string {
  const fields = text.split(/[ \t]+/).filter((field) => field !== '')
  const [first = ''] = fields
  if (first.startsWith('@')) return fields.length === 1 ? ofNickname(first) : aloneProblem(first)
  if (fields.length !== kinds.length) return countProblem(fields.length)
  const lists: number[][] = []
  for (const [index, kind] of kinds.entries()) {
    const list = ofField(fields[index] ?? '', kind)
    if (typeof list === 'string') return `${list}; expected ${expected(kind)}`
    lists.push(list)
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = lists
  // As in Vixie cron, a field that begins with a star is unrestricted, even if a step follows.
  const [minute, hour, day, , weekday] = fields.map((field) => field.startsWith('*'))
  return {
    minutes,
    hours,
    days,
    months,
    weekdays,
    eitherDay: day === false && weekday === false,
    fixed: minute === false && hour === false,
  }
}

interface Kind {
  readonly name: string
  readonly low: number
  readonly high: number
  /** The number of different values. */
  readonly size: number
  readonly names: readonly string[]
  readonly example: string
}

const monthNames = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
const weekdayNames = 'SUN MON TUE WED THU FRI SAT'.split(' ')

const kinds: readonly Kind[] = [
  { name: 'minute', low: 0, high: 59, size: 60, names: [], example: '30' },
  { name: 'hour', low: 0, high: 23, size: 24, names: [], example: '9-17' },
  { name: 'day of month', low: 1, high: 31, size: 31, names: [], example: '1,15' },
  { name: 'month', low: 1, high: 12, size: 12, names: monthNames, example: 'JAN' },
  { name: 'day of week', low: 0, high: 7, size: 7, names: weekdayNames, example: 'MON-FRI' },
]

const nicknames = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
])

function ofNickname(name: string): Cron | string {
  const text = nicknames.get(name.toLowerCase())
  if (text !== undefined) return parseCron(text)
  return `'${name}' is not known; expected one of ${[...nicknames.keys()].join(', ')}`
}

function aloneProblem(name: string): string {
  return `'${name}' is followed by more fields; expected it alone`
}

function countProblem(count: number): string {
  const names = kinds.map(({ name }) => name).join(', ')
  const seconds = count === 6 ? "; for less than a minute use every, such as '10s'" : ''
  const has = count === 0 ? 'it is empty' : `it has ${count} field${count === 1 ? '' : 's'}`
  return `${has}; expected ${kinds.length}: ${names}${seconds}`
}

function ofField(text: string, kind: Kind): number[] | string {
  const values = new Set<number>()
  for (const item of text.split(',')) {
    const range = ofItem(item, kind)
    if (typeof range === 'string') return `its ${kind.name} '${text}' is wrong: ${range}`
    for (let at = range.from; at <= range.to; at += range.step) values.add(folded(at, kind))
  }
  return [...values].toSorted((a, b) => a - b)
}

/** Both 0 and 7 are Sunday. */
function folded(value: number, kind: Kind): number {
  return kind.names === weekdayNames ? value % kind.size : value
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

function ofItem(text: string, kind: Kind): Range | string {
  if (text === '') return 'a value is missing before or after a comma'
  const [ends = '', step, ...more] = text.split('/')
  if (more.length > 0) return `'${text}' has more than one '/'`
  const range = ofEnds(ends, kind)
  if (typeof range === 'string' || step === undefined) return range
  if (ends !== '*' && !ends.includes('-')) return startProblem(ends, step, kind)
  return ofStep(range, step, kind)
}

function ofEnds(text: string, kind: Kind): Range | string {
  if (text === '*') return { from: kind.low, to: kind.low + kind.size - 1, step: 1 }
  const [left = '', right, ...more] = text.split('-')
  if (more.length > 0) return `'${text}' has more than one '-'`
  const from = ofValue(left, kind)
  if (typeof from === 'string') return from
  if (right === undefined) return { from, to: from, step: 1 }
  const to = ofValue(right, kind)
  if (typeof to === 'string') return to
  if (from <= to) return { from, to, step: 1 }
  // A week may start or end with Sunday, by number (7-2, 5-7) or by name (SUN-TUE, FRI-SUN).
  if (from === kind.high && folded(from, kind) === 0) return { from: 0, to, step: 1 }
  if (to === 0 && kind.names.includes(right.toUpperCase())) return { from, to: kind.high, step: 1 }
  return `'${text}' runs backwards; split it, such as ${split(left, right, kind)}`
}

function split(left: string, right: string, kind: Kind): string {
  const last = kind.low + kind.size - 1
  return `'${left}-${kind.names.at(-1) ?? last},${kind.names[0] ?? kind.low}-${right}'`
}

function ofValue(text: string, kind: Kind): number | string {
  if (text === '') return 'a number is missing'
  const named = kind.names.indexOf(text.toUpperCase())
  if (named !== -1) return kind.low + named
  if (!/^[0-9]+$/.test(text)) {
    return `'${text}' is not a number${kind.names.length > 0 ? ' or a name' : ''}`
  }
  const value = Number(text)
  if (value >= kind.low && value <= kind.high) return value
  return `${text} is not from ${kind.low} to ${kind.high}`
}

/** Some versions of cron read 5/15 as 5-59/15, others as 5, so it is refused. */
function startProblem(start: string, step: string, { high }: Kind): string {
  return `'${start}/${step}' has no end; write '${start}-${high}/${step}'`
}

function ofStep(range: Range, text: string, kind: Kind): Range | string {
  if (text === '') return 'a step is missing'
  if (!/^[0-9]+$/.test(text)) return `step '${text}' is not a number`
  const step = Number(text)
  if (step === 0) return 'the step is 0'
  if (step <= kind.size) return { ...range, step }
  // Steps start again with each hour, day or month, so */90 would be hourly.
  return `the step ${text} is larger than ${kind.size}; for longer intervals use every, such as '90m'`
}

function expected({ low, high, names, example }: Kind): string {
  const named = names.length > 0 ? ` or ${names[0]}-${names.at(-1)}` : ''
  return `${low}-${high}${named}, such as '*', '*/2', '${example}'`
}
