// Why a run is not moving, for a terminal.

import type { Failure } from '../core/base/failure.ts'
import { whyText } from '../core/index.ts'
import type { Why } from '../index.ts'
import { reaching, type StoreOption } from './options.ts'
import { clockTime, plain, plainProse, proseLines, relative, wrap } from './output.ts'

export function whySentence(why: Why, now: number): string {
  const when = (time: Date): string => `${clockTime(time, now)} (${relative(time, now)})`
  return proseLines(whyText(why, { when, failure: ({ type, message }) => `${type}: ${message}` }))
}

/** As lines that fit; those that the text itself has stay. */
export function whyLines(why: Why, now: number, width: number): string[] {
  const lines = whySentence(why, now).split('\n')
  return lines.length === 1 ? wrap(lines[0] ?? '', width) : lines
}

/** What would move it: a line each, not wrapped, because a command that is broken into lines cannot be pasted. */
export function suggestionLines({ suggestion = '' }: Why, options: StoreOption): string[] {
  const lines = suggestion === '' ? [] : suggestion.split('\n').map(plain)
  return lines.map((line) => reaching(options, line))
}

export function showFailure(failure: Failure): string {
  return plainProse(`${failure.type}: ${failure.message}`)
}
