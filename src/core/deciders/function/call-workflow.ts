// Calls a workflow function: its input and output pass their schemas.

import { ActivityError } from '../../base/errors.ts'
import { errorOf } from '../../base/failure.ts'
import { stepPlan } from '../../definitions/plan.ts'
import { type AnySchema, parse, parseNow } from '../../definitions/schema.ts'
import { PARSE_INPUT } from '../input-schema.ts'
import { FunctionContext } from './context.ts'
import type { FunctionExecution } from './execution.ts'

export async function callWorkflow(execution: FunctionExecution, given: unknown): Promise<unknown> {
  const context = new FunctionContext(execution, execution.root)
  const { name, handler, schemas } = execution.workflow
  const input = schemas.input ? await parsedInput(execution, schemas.input, given) : given
  const output = await handler(context, input)
  return schemas.output ? parsedOutput(context, schemas.output, output, name) : output
}

// An input that has not been parsed yet is parsed in a step. Its result is recorded, so a schema that generates values,
// or that changes later, is not called again. A run that began before its workflow had a schema keeps its input.
async function parsedInput(execution: FunctionExecution, schema: AnySchema, given: unknown): Promise<unknown> {
  const { head, workflow } = execution
  if (head.extras.parsed ?? execution.beganWithout(PARSE_INPUT.key)) return given
  const body = (): unknown => parse(schema, given, `the input of workflow '${workflow.name}'`)
  const plan = { ...stepPlan({}), body }
  return execution.request(execution.root, PARSE_INPUT, { explicit: false }, plan).catch(throwFailure)
}

// The turn that parses the output also records the end of the run. Only an asynchronous schema needs a step. That step
// is shielded: the function has returned, so a cancellation must not stop its output.
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
  const step = (ctx: FunctionContext): Promise<unknown> => ctx.run('output schema', { ifPast: 'run' }, body)
  return context.shield(step).catch(throwFailure)
}

// The run fails with the schema's failure itself, not with that of a step it called.
function throwFailure(error: unknown): never {
  throw error instanceof ActivityError ? errorOf(error.failure) : error
}
