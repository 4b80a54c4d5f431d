// Whether a run that began with one definition of a graph may continue with another. Steps that have ended may be
// removed, and steps may be added ahead of the run. Any other change could run work twice or skip it, so a person must
// decide.

import type { PawlError } from '../../base/errors.ts'
import { type GraphPlan, shapeOf } from '../../definitions/graph-plan.ts'
import type { StepShape } from '../../kernel/event.ts'
import { type Incompatible, versionMismatch } from '../errors.ts'

/** `shapes` are the steps that the run knows. `isBehind` tells whether a step has ended. */
export function incompatibleSteps(
  shapes: readonly StepShape[],
  plan: GraphPlan,
  isBehind: (step: string) => boolean,
): Incompatible[] {
  const found: Incompatible[] = []
  const known = new Map(shapes.map((shape) => [shape[0], shape]))
  // A dependency on a removed step that has ended no longer counts.
  const isRemoved = (step: string): boolean => !plan.nodes.has(step) && isBehind(step)
  for (const [name, shape] of known) {
    const node = plan.nodes.get(name)
    const [, what, ...after] = shape
    const left: StepShape = [name, what, ...after.filter((step) => !isRemoved(step))]
    if (!node) {
      if (!isBehind(name)) found.push(removedStep(name))
    } else if (signature(shapeOf(node)) !== signature(left)) found.push(changedStep(shape, shapeOf(node)))
  }
  for (const { name, after } of plan.nodes.values()) {
    if (!known.has(name) && after.every(isBehind)) found.push(insertedStep(name))
  }
  return found
}

/**
 * What a migration must name and did not. Every new name it gives must be a step of the code, and it must name every
 * removed step that has not ended. If the code has a new step in a place that the run has passed, that step may be a
 * removed one renamed: then the migration must name every removed step.
 */
export function missingInMigration(
  known: ReadonlySet<string>,
  given: ReadonlySet<string>,
  plan: GraphPlan,
  isBehind: (step: string) => boolean,
): Incompatible[] {
  const misnamed = [...given].filter((name) => !plan.nodes.has(name)).map(unknownName)
  const passed = [...plan.nodes.values()].filter(
    ({ name, after }) => !known.has(name) && after.every(isBehind) && !isBehind(name),
  )
  const removed = [...known].filter((name) => !plan.nodes.has(name) && !given.has(name))
  const unnamed = removed.filter((name) => !isBehind(name)).map(removedStep)
  const [first] = passed
  const renamed = first ? removed.filter(isBehind) : []
  return [...misnamed, ...unnamed, ...renamed.map((name) => perhapsRenamed(name, first?.name))]
}

export function otherDefinition(
  workflow: string,
  taken: string,
  code: string,
  steps: readonly Incompatible[],
): PawlError {
  const fix = `migrate it: run.migrate({ definitionHash: '${code}', steps: { 'old name': 'new name', 'removed': null } })`
  return versionMismatch(`graph '${workflow}'`, { taken, code }, steps, fix)
}

function unknownName(step: string): Incompatible {
  const message = `the migration names a step '${step}', but the code has no such step`
  return { step, problem: 'removed', message }
}

function perhapsRenamed(step: string, to: string | undefined): Incompatible {
  const message = `step '${step}' has ended and was removed, and '${to}' is new: say whether it was renamed ('${step}': '${to}') or not ('${step}': null)`
  return { step, problem: 'removed', message }
}

function removedStep(step: string): Incompatible {
  const message = `step '${step}' has not ended, but the code has no such step: it was removed or renamed`
  return { step, problem: 'removed', message }
}

function insertedStep(step: string): Incompatible {
  const message = `step '${step}' is unknown to the run, which has passed its place: it is new, or another step renamed`
  return { step, problem: 'inserted', message }
}

function changedStep(was: StepShape, is: StepShape): Incompatible {
  const [step] = was
  const message = `step '${step}' was ${described(was)}, but is now ${described(is)}`
  return { step, problem: 'changed', message }
}

function described([, what, ...after]: StepShape): string {
  return `'${what}' after ${after.length > 0 ? after.join(', ') : 'nothing'}`
}

function signature([, what, ...after]: StepShape): string {
  return JSON.stringify([what, ...after.toSorted()])
}
