// A workflow may leave a promise that rejects and await it turns later; Node would end the process for that.
// While workers run, rejections that belong to workflow code are kept from it. All others end as Node would have it.
import { FunctionExecution, running } from '../deciders/function/execution.ts'

let workers = 0

export function keepRejections(): () => void {
  if (workers++ === 0) process.on('unhandledRejection', judge)
  let kept = true
  return () => {
    if (!kept) return
    kept = false
    if (--workers === 0) process.off('unhandledRejection', judge)
  }
}

function judge(error: unknown): void {
  // Node calls this in the context of the promise that was rejected.
  if (running.getStore() instanceof FunctionExecution) return
  // With another listener the process had its own way of dealing with these before we came.
  if (process.listenerCount('unhandledRejection') > 1) return
  throw error
}
