// A thread that ends this process when its parent is gone. The process would notice by itself, but not while the user's
// code is in a loop that never ends.
import { workerData } from 'node:worker_threads'

const { parent, everyMs } = workerData as { readonly parent: number; readonly everyMs: number }
const never = new Int32Array(new SharedArrayBuffer(4))

while (process.ppid === parent) Atomics.wait(never, 0, 0, everyMs)
process.kill(process.pid, 'SIGKILL')
