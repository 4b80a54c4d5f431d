import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import type { Decider } from '../../kernel/decider.ts'
import { MachineExecution } from './execution.ts'

/** Runs a machine: what became of each event is in its history, and its code is not asked about it again. */
export function machineDecider(machine: RegisteredMachine, activities: ActivityOf): Decider {
  return { open: (head) => new MachineExecution(machine, head, activities) }
}
