// A run whose code and steps write to a stream. What is valid in the end is the same, whatever was cut off.
import { type ActivityContext, activity, stream, workflow } from '../../src/index.ts'
import { type Program, RETRY } from './programs.ts'

const words = stream<string>('words')

export const streams: Program = {
  definitions(stage) {
    const recite = (name: string, resume: boolean) => async (step: ActivityContext) => {
      const out = step.stream(words, { resume })
      for (let n = await out.kept(); n < 3; n++) {
        await out.write(`${name} ${n}`)
        await out.flush()
      }
      return stage.body(step, 1)
    }
    const far = activity('far', { queue: 'other', retry: RETRY }, (_input: void, step) => recite('far', false)(step))
    const tell = workflow('tell', async (ctx) => {
      ctx.stream(words).write('begin')
      const told = [await ctx.run('near', { retry: RETRY }, recite('near', true)), await ctx.run(far)]
      ctx.stream(words).write('end')
      return told
    })
    return { workflows: [tell], activities: [far] }
  },
  async perform(engine, stage) {
    const tell = workflow.declare<void, readonly number[]>('tell')
    const run = await engine.start(tell, undefined, { idempotencyKey: 'tell' })
    stage.promise(run.runId)
    return [await run.result(), await run.streamed(words)]
  },
}
