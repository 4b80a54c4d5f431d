// Workflow code may create a promise that rejects and await it turns later; Node would end the process for that.
// While workers run, rejections of workflow code are ignored. All others are handled as Node would handle them.
import { FunctionExecution, running } from '../deciders/function/execution.ts'

let workers = 0

export function keepRejections(): () => void {
  if (workers++ === 0) process.on('unhandledRejection', handle)
  let kept = true
  return () => {
    if (!kept) return
    kept = false
    if (--workers === 0) process.off('unhandledRejection', handle)
  }
}

function handle(error: unknown): void {
  // Node calls this in the context of the promise that was rejected.
  if (running.getStore() instanceof FunctionExecution) return
  // The process has a listener of its own, which handles this rejection.
  if (process.listenerCount('unhandledRejection') > 1) return
  throw error
}
