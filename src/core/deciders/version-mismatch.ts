// The error of a graph or machine run that follows one definition of its workflow while this worker's code is another
// definition that does not fit. The run is paused.
import { PawlError } from '../base/errors.ts'
import type { Decision } from '../kernel/event.ts'

export type DefinitionTaken = Extract<Decision, { type: 'DefinitionTaken' }>

export interface Incompatible {
  readonly step: string
  readonly problem: 'removed' | 'changed' | 'inserted'
  readonly message: string
}

/** `fix` is what the reader can do besides deploying code that fits. */
export function versionMismatch(
  workflow: string,
  { taken, code }: { readonly taken: string; readonly code: string },
  steps: readonly Incompatible[],
  fix: string,
): PawlError {
  const lines = steps.slice(0, 20).map(({ message }) => `\n  ${message}`)
  const rest = steps.length > 20 ? `\n  and ${steps.length - 20} more` : ''
  const problem =
    taken === code
      ? 'does not fit this code'
      : `follows definition ${taken}, but this code is definition ${code}, which does not fit`
  const message = `this run of ${workflow} ${problem}:${lines.join('')}${rest}
To continue the run, deploy code that fits, or ${fix}.`
  return mismatch(message, { taken, code, steps: steps.map((each) => ({ ...each })) })
}

export function mismatch(message: string, details: Readonly<Record<string, unknown>>): PawlError {
  const error = new PawlError('VERSION_MISMATCH', message, { details })
  error.name = 'VersionMismatch'
  return error
}
