// Chooses the decider of a workflow, and the rewind of a history, by the workflow's style.

import { unreachable } from '../base/assert.ts'
import type { ActivityOf } from '../definitions/plan.ts'
import type { RegisteredFunction, RegisteredMachine, RegisteredWorkflow, Registry } from '../definitions/registry.ts'
import type { Decider } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { callWorkflow } from './function/call-workflow.ts'
import { FunctionExecution } from './function/execution.ts'
import { codeRewind } from './function/rewind.ts'
import { GraphExecution } from './graph/execution.ts'
import { dependentsIn } from './graph/nodes.ts'
import { graphRewind, isOfGraph } from './graph/rewind.ts'
import { MachineExecution } from './machine/execution.ts'
import type { Rewind } from './rewind-history.ts'

export function deciderOf(workflow: RegisteredWorkflow, registry: Registry): Decider {
  const activities: ActivityOf = (name) => registry.activity(name)
  switch (workflow.style) {
    case 'function':
      return functionDecider(workflow, activities)
    // The history records what the code of a graph decided, so that code is not called again.
    case 'graph': {
      const dependents = dependentsIn(workflow.plan)
      return { open: (head) => new GraphExecution(workflow, head, dependents, activities) }
    }
    case 'machine':
      return machineDecider(workflow, activities)
    default:
      return unreachable(workflow)
  }
}

/** Runs a workflow function by replay: the code runs again and gets the recorded results step by step. */
export function functionDecider(workflow: RegisteredFunction, activities: ActivityOf): Decider {
  const code = { workflow, activities, start: callWorkflow }
  return { open: (head, world) => new FunctionExecution(code, head, world) }
}

/** Runs a machine: the history records the move that answered each event, so no handler is called twice for it. */
export function machineDecider(machine: RegisteredMachine, activities: ActivityOf): Decider {
  return { open: (head) => new MachineExecution(machine, head, activities) }
}

/** How to rewind a history, by the style that made it. */
export function rewindOf(events: readonly HistoryEvent[]): Rewind {
  return isOfGraph(events) ? graphRewind : codeRewind
}
