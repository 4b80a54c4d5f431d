// What a graph consists of, apart from the code in it: its steps, what they are, and what they come after.
import { digest } from '../base/digest.ts'
import type { StepShape } from '../kernel/event.ts'
import type { GraphNode, Work } from './graph-plan.ts'

export function shapeOf({ name, after, rule, each, work }: GraphNode): StepShape {
  const marks = [...(each ? ['each'] : []), ...(rule === 'allSucceeded' ? [] : [rule])]
  return [name, [whatOf(work), ...marks].join(' '), ...after.toSorted()]
}

/** The same for the same steps, in whatever order they were written. */
export function shapeHash(shapes: readonly StepShape[]): string {
  const sorted = shapes.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return digest(JSON.stringify(sorted))
}

function whatOf(work: Work): string {
  switch (work.type) {
    case 'step':
      return 'step'
    case 'activity':
      return work.own ? 'step' : `activity:${work.activity}`
    case 'child':
      return `child:${work.workflow}`
    case 'wait':
      return `wait:${work.signal}`
  }
}
