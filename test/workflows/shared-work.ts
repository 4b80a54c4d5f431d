// The workflow that both processes of a test have code for. It tells which of them ran each step.
import { type Workflow, workflow } from '../../src/index.ts'

export function shared(worker: string): Workflow<number, string[]> {
  return workflow('shared', async (ctx, n: number) => {
    const first = await ctx.run('first', () => worker)
    await ctx.sleep(5 + (n % 7))
    const second = await ctx.run('second', () => worker)
    return [first, second]
  })
}
