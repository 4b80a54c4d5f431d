// What the two openworkflow rows share: the workflows and the client. Only the backend differs.
import type { ChainInput, Executor, FanoutInput, Hooks } from '../adapter.ts'
import { loadPeer } from '../peers/load.ts'
import { pooled, range } from '../time.ts'

interface Step {
  run<Result>(options: { name: string }, body: () => Promise<Result>): Promise<Result>
}

type Implementation<Input> = (context: { input: Input; step: Step }) => Promise<number>

export interface OpenWorkflow {
  implementWorkflow<Input>(spec: { name: string }, fn: Implementation<Input>): void
  runWorkflow(spec: { name: string }, input: object): Promise<{ result(): Promise<number> }>
  newWorker(options: { concurrency: number }): { start(): Promise<void>; stop(): Promise<void> }
}

interface OpenWorkflowModule {
  OpenWorkflow: new (options: { backend: unknown }) => OpenWorkflow
}

export const concurrency = 32

export async function openWorkflow(backend: unknown): Promise<OpenWorkflow> {
  const { OpenWorkflow } = await loadPeer<OpenWorkflowModule>('openworkflow')
  return new OpenWorkflow({ backend })
}

export async function startWorker(engine: OpenWorkflow, hooks: Hooks) {
  implementWorkflows(engine, hooks)
  const worker = engine.newWorker({ concurrency })
  await worker.start()
  return worker
}

export const executorOf = (engine: OpenWorkflow): Executor => ({
  chain: async (input) => await (await engine.runWorkflow({ name: 'chain' }, input)).result(),
  fanout: async (input) => await (await engine.runWorkflow({ name: 'fanout' }, input)).result(),
})

/** It has no bulk call, so many starts are many calls in flight. */
export const startersOf = (engine: OpenWorkflow, inFlight: number) => ({
  startOne: (run: number) => engine.runWorkflow({ name: 'chain' }, { run, steps: 1 }),
  startMany: (runs: number, steps: number) =>
    pooled(runs, inFlight, (run) => engine.runWorkflow({ name: 'chain' }, { run, steps })),
})

function implementWorkflows(engine: OpenWorkflow, hooks: Hooks): void {
  const runStep = (step: Step, run: number, body: number): Promise<number> =>
    step.run({ name: `step${body}` }, async () => {
      hooks.ran(run, body)
      return body
    })
  engine.implementWorkflow<ChainInput>({ name: 'chain' }, async ({ input, step }) => {
    hooks.started(input.run)
    for (let body = 0; body < input.steps; body++) await runStep(step, input.run, body)
    return input.steps
  })
  engine.implementWorkflow<FanoutInput>({ name: 'fanout' }, async ({ input, step }) => {
    const branches = range(0, input.width, (body) => runStep(step, input.run, body))
    return (await Promise.all(branches)).length
  })
}
