import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredFunction } from '../../definitions/registry.ts'
import type { Decider } from '../../kernel/decider.ts'
import { callWorkflow } from './call-workflow.ts'
import { FunctionExecution } from './execution.ts'

/** Runs a workflow function by replay: the code runs again and gets the recorded results step by step. */
export function functionDecider(workflow: RegisteredFunction, activities: ActivityOf): Decider {
  const code = { workflow, activities, start: callWorkflow }
  return { open: (head, world) => new FunctionExecution(code, head, world) }
}
