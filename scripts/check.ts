// `npm test`: runs every stage in order and stops at the first that fails. The last line printed is always
// `N passed, N failed`. `--only unit,package` runs a selection.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { root, runOnProjectNode } from './project-node.ts'
import { type Context, joined, type Stage, stages, type Tally } from './stages.ts'

await runOnProjectNode(import.meta.filename)
process.exitCode = await check(selectStages())

function selectStages(): readonly Stage[] {
  const { values } = parseArgs({ options: { only: { type: 'string' } } })
  if (values.only === undefined) return stages
  const wanted = values.only.split(',')
  const unknown = wanted.filter((name) => !stages.some((stage) => stage.name === name))
  if (unknown.length > 0) {
    const names = stages.map((stage) => stage.name).join(', ')
    throw new Error(`--only has ${unknown.join(', ')}, but the stages are ${names}.`)
  }
  return stages.filter((stage) => wanted.includes(stage.name))
}

async function check(selected: readonly Stage[]): Promise<number> {
  const scratchFolder = await mkdtemp(join(tmpdir(), 'pawl-check-'))
  const tally: Tally = { passed: 0, failed: 0 }
  try {
    for (const stage of joined(selected)) {
      if (!(await runStage(stage, { scratchFolder, tally, run }))) return 1
    }
    return 0
  } finally {
    await rm(scratchFolder, { recursive: true, force: true })
    console.log(`\n${tally.passed} passed, ${tally.failed} failed`)
  }
}

async function runStage(stage: Stage, context: Context): Promise<boolean> {
  console.log(`\n── ${stage.name} ──`)
  const failedBefore = context.tally.failed
  const start = performance.now()
  const ok = await stage.run(context).catch((error: unknown) => {
    console.error(error)
    return false
  })
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`── ${stage.name}: ${ok ? 'ok' : 'FAILED'} in ${seconds} s`)
  // A failed stage without failed tests counts as one failure, so that the last line shows it.
  if (!ok && context.tally.failed === failedBefore) context.tally.failed += 1
  return ok
}

/** True if the command ends with code 0. Its output is not captured. */
function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly timeout?: number } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      killSignal: 'SIGKILL',
      ...options,
    })
    child.on('error', (error) => {
      console.error(`${program} did not start: ${error.message}`)
      resolve(false)
    })
    child.on('close', (code, signal) => {
      if (signal !== null) console.error(`${program} was killed by ${signal}`)
      resolve(code === 0)
    })
  })
}
