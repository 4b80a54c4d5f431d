// Two processes on one store, as people deploy them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useStore } from './each-store.ts'
import { shared } from './shared-work.ts'

const program = join(import.meta.dirname, 'worker-process.ts')

describe.each(['sqlite', 'postgres'] as const)('two processes on %s', (kind) => {
  const bench = useStore(kind)

  test('both make progress, and every step of every run is done once', async () => {
    const here = await bench.engine({ workflows: [shared('here')], build: 'same' })
    const there = await begin(bench.url)
    try {
      here.work({ id: 'here', signals: false, concurrency: 4 })
      const inputs = Array.from({ length: 60 }, (_, n) => ({ input: n }))
      const runs = await here.startMany(shared('here'), inputs)
      const results = await Promise.all(runs.map((run) => run.result()))
      const workers = new Set(results.flat())
      expect(workers).toEqual(new Set(['here', 'there']))
      for (const run of runs) {
        let completed = 0
        for await (const { type } of run.history()) if (type === 'StepCompleted') completed++
        expect(completed).toBe(2)
      }
    } finally {
      await end(there)
    }
  })
})

async function begin(url: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, url, 'there'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [said] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => [`it ended with ${String(code)}`]),
  ])) as [Buffer | string]
  expect(String(said)).toBe('ready\n')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.stdin?.end()
  await exited
  expect(child.exitCode).toBe(0)
}
