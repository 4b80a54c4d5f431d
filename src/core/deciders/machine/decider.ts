import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import type { Decider } from '../../kernel/decider.ts'
import { MachineExecution } from './execution.ts'

/** Runs a machine: the history records the move that answered each event, so no handler is called twice for it. */
export function machineDecider(machine: RegisteredMachine, activities: ActivityOf): Decider {
  return { open: (head) => new MachineExecution(machine, head, activities) }
}
