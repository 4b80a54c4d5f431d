// Keeps a graph given as data in the store, or says everything that is wrong with it.
import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import type { GraphProblem } from '../../definitions/graph-data/problems.ts'
import { PawlError } from '../../kernel/errors.ts'
import { pawlCommand } from '../../kernel/shell.ts'
import { type ReadingOptions, reading, withNewEngine } from '../options.ts'
import { errorLine, paint, plain, print, printError, printJson } from '../output.ts'

export function submitCommand(): Command {
  return reading(
    new Command('submit')
      .description('keep a graph given as data in the store; any worker can run it then')
      .argument('<file>', 'a graph in JSON or YAML'),
  ).action(submit)
}

async function submit(file: string, options: ReadingOptions): Promise<void> {
  const text = await contentsOf(file)
  await withNewEngine(options, async (engine) => {
    try {
      const { name, version, definitionHash } = await engine.submit(text)
      if (options.json) return printJson({ name, version, definitionHash })
      print(`'${plain(name)}' version ${paint('bold', String(version))}  ${definitionHash}`)
      const command = pawlCommand('start', [name], { placeholder: "'<input as JSON>'" })
      print(paint('dim', `start it: ${command}`))
    } catch (error) {
      const problems = problemsIn(error)
      if (!problems) throw error
      if (options.json) printJson({ problems })
      else report(file, problems)
      process.exitCode = 1
    }
  })
}

async function contentsOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? `there is no file ${file}.` : `${file} cannot be read: ${code}`
    throw new PawlError('INPUT_INVALID', what)
  }
}

function problemsIn(error: unknown): readonly GraphProblem[] | undefined {
  if (!(error instanceof PawlError)) return undefined
  return (error.details as { readonly problems?: readonly GraphProblem[] } | undefined)?.problems
}

function report(file: string, problems: readonly GraphProblem[]): void {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  printError(errorLine(`${plain(file)} has ${count} (DEFINITION_INVALID)`))
  for (const { path, code, message } of problems) {
    const place = path === '' ? '' : `${path}: `
    printError(`  ${plain(`${place}${message} (${code})`)}`)
  }
}
