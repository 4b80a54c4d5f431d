// Chooses the decider of a workflow by its style.

import { unreachable } from '../base/assert.ts'
import type { ActivityOf } from '../definitions/plan.ts'
import type { RegisteredWorkflow, Registry } from '../definitions/registry.ts'
import type { Decider } from '../kernel/decider.ts'
import { functionDecider } from './function/decider.ts'
import { graphDecider } from './graph/decider.ts'
import { machineDecider } from './machine/decider.ts'

export function deciderOf(workflow: RegisteredWorkflow, registry: Registry): Decider {
  const activities: ActivityOf = (name) => registry.activity(name)
  switch (workflow.style) {
    case 'function':
      return functionDecider(workflow, activities)
    case 'graph':
      return graphDecider(workflow, activities)
    case 'machine':
      return machineDecider(workflow, activities)
    default:
      return unreachable(workflow)
  }
}
