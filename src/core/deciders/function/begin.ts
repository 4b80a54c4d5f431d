// Where a workflow function begins and ends: its input and its output pass their schemas.

import { ActivityError } from '../../base/errors.ts'
import { errorOf } from '../../base/failure.ts'
import { stepPlan } from '../../definitions/plan.ts'
import { type AnySchema, parse, parseNow } from '../../definitions/schema.ts'
import { INPUT_KEY } from '../../kernel/key.ts'
import { FunctionContext } from './context.ts'
import type { FunctionExecution } from './execution.ts'

/** Starts the user's function with a `ctx` of its own. */
export async function callWorkflow(execution: FunctionExecution, given: unknown): Promise<unknown> {
  const context = new FunctionContext(execution, execution.root)
  const { name, handler, schemas } = execution.workflow
  const input = schemas.input ? await parsedInput(execution, schemas.input, given) : given
  const output = await handler(context, input)
  return schemas.output ? parsedOutput(context, schemas.output, output, name) : output
}

// What nobody has parsed yet is parsed here, as a step: then it is recorded, and a schema that makes up values, or that
// changes, is not asked again. A run that began before there was a schema goes on with what it began with.
async function parsedInput(
  execution: FunctionExecution,
  schema: AnySchema,
  given: unknown,
): Promise<unknown> {
  const { head, workflow } = execution
  if (head.extras.parsed ?? execution.beganWithout(INPUT_KEY)) return given
  const body = (): unknown => parse(schema, given, `the input of workflow '${workflow.name}'`)
  const step = {
    type: 'RunStep',
    kind: 'sideEffect',
    key: INPUT_KEY,
    name: 'input schema',
  } as const
  const plan = { ...stepPlan({}), body }
  return execution.request(execution.root, step, { explicit: false }, plan).catch(unwrapped)
}

// The end is recorded in the turn that parses it. Only a schema that waits for something needs a step; one that a
// cancelled run is allowed, too, because its function has ended well.
async function parsedOutput(
  context: FunctionContext,
  schema: AnySchema,
  output: unknown,
  workflow: string,
): Promise<unknown> {
  const what = `the output of workflow '${workflow}'`
  const now = parseNow(schema, output, what, 'OUTPUT_INVALID')
  if (now) return now.value
  const body = (): unknown => parse(schema, output, what, 'OUTPUT_INVALID')
  const step = (ctx: FunctionContext): Promise<unknown> =>
    ctx.run('output schema', { ifPast: 'run' }, body)
  return context.shield(step).catch(unwrapped)
}

// The failure is the run's own, and not that of something it called.
function unwrapped(error: unknown): never {
  throw error instanceof ActivityError ? errorOf(error.failure) : error
}
