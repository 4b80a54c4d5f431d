// A run of ten thousand steps whose worker is killed half-way: another one replays what is recorded and goes on.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'
import { LoadProcess } from './processes.ts'
import { storeKinds, withStore } from './stores.ts'

const steps = 10_000
const long = workflow.declare<number, number>('long')

test.each(storeKinds)(
  '%s: 10,000 steps, killed half-way, resumed by another worker',
  {
    timeout: 120_000,
  },
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-long-'))
    const file = join(folder, 'ledger')
    try {
      await withStore(kind, (url) => killHalfWay(kind, url, file))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

async function killHalfWay(kind: string, url: string, file: string): Promise<void> {
  const engine = await open(url)
  const processes: LoadProcess[] = []
  const start = async (): Promise<LoadProcess> => {
    const worker = await LoadProcess.start('long-worker.ts', [url, file])
    processes.push(worker)
    return worker
  }
  try {
    const first = await start()
    const begun = performance.now()
    const run = await engine.start(long, steps)
    while (linesOf(file).length < steps / 2) {
      first.check()
      await sleep(5)
    }
    await first.kill()
    const killed = performance.now()
    const before = linesOf(file).length
    expect(before).toBeLessThan(steps)
    await start()
    expect(await run.result()).toBe((steps * (steps + 1)) / 2)
    const ended = performance.now()
    const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
    console.log(
      `${kind}: killed at step ${before} after ${seconds(killed - begun)} s; the rest, lease and replay included, took ${seconds(ended - killed)} s`,
    )
    expectEachOnce(linesOf(file))
  } finally {
    await Promise.all(processes.map((each) => each.kill().catch(() => {})))
    await engine.close()
  }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1)
}

/** Every step body ran once, but for the one that was running when its worker died. */
function expectEachOnce(lines: readonly string[]): void {
  const distinct = new Set(lines)
  expect(distinct.size).toBe(steps)
  expect(lines.length - distinct.size).toBeLessThanOrEqual(1)
}
