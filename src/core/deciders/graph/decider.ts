import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { Decider } from '../../kernel/decider.ts'
import { GraphExecution } from './execution.ts'
import { dependentsIn } from './nodes.ts'

/** Runs a graph: the history records what its code decided, so that code is not called again. */
export function graphDecider(graph: RegisteredGraph, activities: ActivityOf): Decider {
  const dependents = dependentsIn(graph.plan)
  return {
    open: (head) => new GraphExecution(graph, head, dependents, activities),
  }
}
