// Times, durations and values as people read them.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `38ms`, `2.1s`, `20s`, `7m 56s`, `2h 47m`, `3d 4h`. */
export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`
  if (ms < SECOND) return `${Math.round(ms)}ms`
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m ${pad(Math.floor((ms % MINUTE) / SECOND))}s`
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h ${pad(Math.floor((ms % HOUR) / MINUTE))}m`
  return `${Math.floor(ms / DAY)}d ${Math.floor((ms % DAY) / HOUR)}h`
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}

/** A time as its parts, in UTC or in the time zone of the reader. */
function partsOf(time: Date, utc: boolean): { readonly date: string; readonly clock: string; readonly ms: string } {
  const shown = utc ? time : new Date(time.getTime() - time.getTimezoneOffset() * MINUTE)
  const [date = '', rest = ''] = shown.toISOString().split('T')
  return { date, clock: rest.slice(0, 8), ms: rest.slice(8, 12) }
}

/** The clock of today, and the date before that. */
export function clock(time: Date, { utc, now }: { readonly utc: boolean; readonly now: number }): string {
  const parts = partsOf(time, utc)
  if (parts.date === partsOf(new Date(now), utc).date) return parts.clock
  return `${parts.date.slice(5)} ${parts.clock.slice(0, 5)}`
}

/** `03:12:40.684` */
export function exactClock(time: Date, utc: boolean): string {
  const { clock: shown, ms } = partsOf(time, utc)
  return `${shown}${ms}`
}

/** Of a long id, its beginning and its end. */
export function shortId(id: string, most = 22): string {
  return id.length <= most ? id : `${id.slice(0, 8)}…${id.slice(-4)}`
}

const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Text of users: control characters and those that change the direction of text are shown as symbols. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '␦'
  })
}

/** A value in one line. */
export function brief(value: unknown, most = 120): string {
  const text = jsonOf(value, 0)
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** A value as JSON; what JSON cannot represent is named. */
export function jsonOf(value: unknown, indent = 2): string {
  const seen = new Set<unknown>()
  const replace = (_: string, each: unknown): unknown => {
    if (typeof each === 'bigint') return `${each}n`
    if (typeof each === 'object' && each !== null) {
      if (seen.has(each)) return '[circular]'
      seen.add(each)
    }
    if (each instanceof Map) return { Map: [...each] }
    if (each instanceof Set) return { Set: [...each] }
    if (each instanceof Uint8Array) return `[${each.length} bytes]`
    return each
  }
  return JSON.stringify(value, replace, indent) ?? String(value)
}

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** One argument of a POSIX shell. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:@,+=-]+$/.test(text)) return text
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
