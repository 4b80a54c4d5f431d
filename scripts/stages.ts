// The stages of `npm test`. A stage returns whether it passed, and adds its tests to the tally.

import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './project-node.ts'
import { countTests } from './test-report.ts'

export type Tally = { passed: number; failed: number }

export type Context = {
  readonly scratchFolder: string
  readonly tally: Tally
  readonly run: (
    program: string,
    args: readonly string[],
    options?: { readonly cwd?: string; readonly timeout?: number },
  ) => Promise<boolean>
}

export type Stage = {
  readonly name: string
  /** Test projects that may run in parallel with those of the next stage, because they wait at different times. */
  readonly parallel?: readonly string[]
  readonly run: (context: Context) => Promise<boolean>
}

const exampleMsMax = 60_000

export const stages: readonly Stage[] = [
  { name: 'format', run: ({ run }) => run('biome', ['ci', '.']) },
  { name: 'lint', run: ({ run }) => run('oxlint', ['--type-aware', '--deny-warnings']) },
  { name: 'types', run: checkTypes },
  { name: 'build', run: build },
  vitestStage(['unit']),
  vitestStage(['ui']),
  parallelStage('simulation'),
  parallelStage('crash'),
  vitestStage(['load']),
  { name: 'examples', run: runExamples },
  vitestStage(['package']),
]

async function checkTypes({ run }: Context): Promise<boolean> {
  if (!(await run('tsc', ['-b']))) return false
  for (const folder of ['bench', 'examples']) {
    if (!existsSync(join(root, folder, 'tsconfig.json'))) continue
    if (!(await run('tsc', ['-p', folder, '--noEmit']))) return false
  }
  return true
}

function build({ run }: Context): Promise<boolean> {
  return run('node', [join(root, 'scripts', 'build.ts')])
}

/** Joins neighbouring stages that may run in parallel. */
export function joined(selected: readonly Stage[]): readonly Stage[] {
  return selected.reduce<readonly Stage[]>((done, stage) => {
    const last = done.at(-1)
    if (!last?.parallel || !stage.parallel) return [...done, stage]
    return [...done.slice(0, -1), parallelStage(...last.parallel, ...stage.parallel)]
  }, [])
}

function parallelStage(...projects: readonly string[]): Stage {
  return { ...vitestStage(projects), parallel: projects }
}

function vitestStage(projects: readonly string[]): Stage {
  const name = projects.join(' and ')
  return {
    name,
    run: async ({ run, scratchFolder, tally }) => {
      const report = join(scratchFolder, `${projects.join('-')}.json`)
      const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`]
      const chosen = projects.flatMap((project) => ['--project', project])
      const args = ['run', ...chosen, '--passWithNoTests', ...reporters]
      const ok = await run('vitest', args)
      const counted = countTests(await readFile(report, 'utf8').catch(() => undefined))
      tally.passed += counted.passed
      tally.failed += counted.failed
      return ok && counted.failed === 0
    },
  }
}

/** Runs each example in its own empty folder, so that it cannot depend on files or leave any. */
async function runExamples({ run, scratchFolder }: Context): Promise<boolean> {
  const folder = join(root, 'examples')
  const names = existsSync(folder) ? await readdir(folder) : []
  const examples = names.filter((name) => /(?<!\.test|\.d)\.ts$/.test(name)).toSorted()
  for (const example of examples) {
    console.log(`\n$ node examples/${example}`)
    const cwd = await mkdtemp(join(scratchFolder, 'example-'))
    const options = { cwd, timeout: exampleMsMax }
    if (!(await run('node', [join(folder, example)], options))) return false
  }
  console.log(`examples run: ${examples.length}`)
  return true
}
