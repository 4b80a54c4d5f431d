// The shape of a graph: its steps, their kinds and their order, without the code in them.
import { digest } from '../base/digest.ts'
import type { StepShape } from '../kernel/event.ts'
import type { GraphNode, Work } from './graph-plan.ts'

export function shapeOf({ name, after, rule, each, work }: GraphNode): StepShape {
  const marks = [...(each ? ['each'] : []), ...(rule === 'allSucceeded' ? [] : [rule])]
  return [name, [whatOf(work), ...marks].join(' '), ...after.toSorted()]
}

/** The hash of a shape. The order in which steps were written does not matter. */
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
