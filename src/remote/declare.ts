// Contracts of workflows and activities, for programs that do not have their code.
import { checkName } from '../core/base/names.ts'
import type { ActivityContract, WorkflowContract } from '../core/index.ts'

/** Declares workflows without their code: `workflow.declare<Order, Receipt>('order')`. `pawl` defines them. */
export const workflow = {
  declare: <In = void, Out = void>(name: string): WorkflowContract<In, Out> =>
    ({ is: 'workflow', name: checkName(name, 'the name of a workflow') }) as WorkflowContract<In, Out>,
}

/** Declares activities without their code, to start them on their own. `pawl` defines them. */
export const activity = {
  declare: <In = void, Out = void>(name: string): ActivityContract<In, Out> =>
    ({ is: 'activity', name: checkName(name, 'the name of an activity') }) as ActivityContract<In, Out>,
}
