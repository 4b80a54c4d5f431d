// A run that began by one definition of its workflow, and code that is another which it cannot go on by. The run is paused.
import { PawlError } from '../base/errors.ts'

export interface Incompatible {
  readonly step: string
  readonly problem: 'removed' | 'changed' | 'inserted'
  readonly message: string
}

/** `way` is what can be done about it, besides deploying code that fits. */
export function versionMismatch(
  workflow: string,
  { taken, code }: { readonly taken: string; readonly code: string },
  steps: readonly Incompatible[],
  way: string,
): PawlError {
  const lines = steps.slice(0, 20).map(({ message }) => `\n  ${message}`)
  const rest = steps.length > 20 ? `\n  and ${steps.length - 20} more` : ''
  const parted =
    taken === code
      ? 'does not fit this code'
      : `began by definition ${taken}, and this code is definition ${code}`
  const error = new PawlError(
    'VERSION_MISMATCH',
    `this run of ${workflow} ${parted}:${lines.join('')}${rest}
To go on, deploy code that fits, or ${way}.`,
    { details: { taken, code, steps: steps.map((each) => ({ ...each })) } },
  )
  error.name = 'VersionMismatch'
  return error
}
