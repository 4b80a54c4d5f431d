// Shows on a terminal why a run makes no progress.
import type { Failure } from '../core/base/failure.ts'
import { whyText } from '../core/index.ts'
import type { Why } from '../index.ts'
import { type StoreOption, suggestedCommand } from './options.ts'
import { clockTime, plain, plainProse, proseLines, relative, wrap } from './output.ts'

export function whySentence(why: Why, now: number): string {
  const when = (time: Date): string => `${clockTime(time, now)} (${relative(time, now)})`
  return proseLines(whyText(why, { when, failure: ({ type, message }) => `${type}: ${message}` }))
}

/** The explanation in lines that fit; line breaks in the text are kept. */
export function whyLines(why: Why, now: number, width: number): string[] {
  const lines = whySentence(why, now).split('\n')
  return lines.length === 1 ? wrap(lines[0] ?? '', width) : lines
}

/** Suggested commands, one a line and not wrapped, because a broken command cannot be pasted. */
export function suggestionLines({ suggestion = '' }: Why, options: StoreOption): string[] {
  const lines = suggestion === '' ? [] : suggestion.split('\n').map(plain)
  return lines.map((line) => suggestedCommand(options, line))
}

export function showFailure(failure: Failure): string {
  return plainProse(`${failure.type}: ${failure.message}`)
}
