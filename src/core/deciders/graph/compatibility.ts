// Whether a run that began by one definition of a graph may go on by another. Steps that are behind it may be gone, and
// steps it has not come to may be new. Anything else could do a thing twice or leave one out, so it is for a person to say.

import type { PawlError } from '../../base/errors.ts'
import type { GraphPlan } from '../../definitions/graph-plan.ts'
import { shapeOf } from '../../definitions/graph-shape.ts'
import type { StepShape } from '../../kernel/event.ts'
import { type Incompatible, versionMismatch } from '../version-mismatch.ts'

/** `shapes` are what the run knows. `isBehind` says of a step whether it has ended; of one that the run does not know, whether all it comes after has. */
export function incompatibleSteps(
  shapes: readonly StepShape[],
  plan: GraphPlan,
  isBehind: (step: string) => boolean,
): Incompatible[] {
  const found: Incompatible[] = []
  const known = new Map(shapes.map((shape) => [shape[0], shape]))
  // What came after a step that has ended and is gone comes after the others as before.
  const isGone = (step: string): boolean => !plan.nodes.has(step) && isBehind(step)
  for (const [name, shape] of known) {
    const node = plan.nodes.get(name)
    const [, what, ...after] = shape
    const left: StepShape = [name, what, ...after.filter((step) => !isGone(step))]
    if (!node) {
      if (!isBehind(name)) found.push(removed(name))
    } else if (signature(shapeOf(node)) !== signature(left))
      found.push(changed(shape, shapeOf(node)))
  }
  for (const { name, after } of plan.nodes.values()) {
    if (!known.has(name) && after.every(isBehind)) found.push(inserted(name))
  }
  return found
}

/**
 * What a migration must say and has not: it may give no name that is none, and leave out no step that has not ended. If
 * there are steps the run is past and does not know, one of them may be an old one renamed: then what became of every step
 * that is gone must be said.
 */
export function leftUnsaid(
  known: ReadonlySet<string>,
  given: ReadonlySet<string>,
  plan: GraphPlan,
  isBehind: (step: string) => boolean,
): Incompatible[] {
  const misnamed = [...given].filter((name) => !plan.nodes.has(name)).map(nameless)
  const isNew = [...plan.nodes.values()].filter(
    ({ name, after }) => !known.has(name) && after.every(isBehind) && !isBehind(name),
  )
  const gone = [...known].filter((name) => !plan.nodes.has(name) && !given.has(name))
  const unsaid = gone.filter((name) => !isBehind(name)).map(removed)
  const doubtful = isNew.length === 0 ? [] : gone.filter(isBehind)
  return [...misnamed, ...unsaid, ...doubtful.map((name) => perhapsRenamed(name, isNew[0]?.name))]
}

export function otherDefinition(
  workflow: string,
  taken: string,
  code: string,
  steps: readonly Incompatible[],
): PawlError {
  const way = `say what became of the steps: run.migrate({ definitionHash: '${code}', steps: { 'old name': 'new name', 'gone': null } })`
  return versionMismatch(`graph '${workflow}'`, { taken, code }, steps, way)
}

function nameless(step: string): Incompatible {
  const message = `a step is to be called '${step}', and the code has no such step`
  return { step, problem: 'removed', message }
}

function perhapsRenamed(step: string, to: string | undefined): Incompatible {
  const message = `step '${step}' has ended and is gone, and '${to}' is new: say whether it is that one ('${step}': '${to}') or not ('${step}': null)`
  return { step, problem: 'removed', message }
}

function removed(step: string): Incompatible {
  const message = `step '${step}' has not ended, and the code has no such step: it was removed or renamed`
  return { step, problem: 'removed', message }
}

function inserted(step: string): Incompatible {
  const message = `step '${step}' is not known to the run, which is past the place where it stands: it is new, or another renamed`
  return { step, problem: 'inserted', message }
}

function changed(was: StepShape, is: StepShape): Incompatible {
  const [step] = was
  const message = `step '${step}' was ${described(was)}, and is ${described(is)}`
  return { step, problem: 'changed', message }
}

function described([, what, ...after]: StepShape): string {
  return `'${what}' after ${after.length > 0 ? after.join(', ') : 'nothing'}`
}

function signature([, what, ...after]: StepShape): string {
  return JSON.stringify([what, ...after.toSorted()])
}
