// Every planted bug must be caught by the simulation, and caught for a reason: a violation, not a crash of the test.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Mutant, mutants } from './mutants.ts'

const SEEDS = 2_000
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

interface Verdict {
  readonly code: number
  readonly output: string
}

function simulate({ name, store, program, first = 1 }: Mutant): Promise<Verdict> {
  const how = program ? [store, program] : [store]
  const args = ['--import', here('./mutate.ts'), here('./run.ts'), String(first), String(SEEDS), ...how]
  const options = { env: { ...process.env, PAWL_MUTANT: name }, timeout: 110_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error ? Number((error as { code?: unknown }).code ?? -1) : 0
      resolve({ code, output: stdout + stderr })
    })
  })
}

test('there are at least 20 planted bugs, each under a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  expect(mutants.length).toBeGreaterThanOrEqual(20)
})

for (const mutant of mutants) {
  test.concurrent(`caught: ${mutant.name}`, { timeout: 120_000 }, async () => {
    const { code, output } = await simulate(mutant)
    expect(output).toMatch(/violations|livelock/)
    expect(code, output).toBe(1)
  })
}
