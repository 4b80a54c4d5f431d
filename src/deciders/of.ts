// The decider for a workflow of any style.
import type { RegisteredWorkflow, Registry } from '../definitions/registry.ts'
import { unreachable } from '../kernel/assert.ts'
import type { Decider } from '../kernel/decider.ts'
import { functionDecider } from './function/decider.ts'
import { graphDecider } from './graph/decider.ts'
import { machineDecider } from './machine/decider.ts'

export function deciderOf(workflow: RegisteredWorkflow, registry: Registry): Decider {
  switch (workflow.style) {
    case 'function':
      return functionDecider(workflow)
    case 'graph':
      return graphDecider(workflow, (name) => registry.activity(name))
    case 'machine':
      return machineDecider(workflow)
    default:
      return unreachable(workflow)
  }
}
