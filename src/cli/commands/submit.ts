// Stores a graph document, or reports every problem with it.
import { open } from 'node:fs/promises'
import { Command } from 'commander'
import { type GraphProblem } from '../../addons/documents/problems.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { pawlCommand } from '../../core/base/shell.ts'
import { type CommonOptions, suggestedCommand, withCommonOptions, withNewEngine } from '../options.ts'
import { counted, errorLine, paint, plain, print, printError, printJson } from '../output.ts'

export function submitCommand(): Command {
  return withCommonOptions(
    new Command('submit')
      .description('store a graph document, so that any worker can run it')
      .argument('<file>', 'a graph document in JSON or YAML'),
  ).action(submit)
}

async function submit(file: string, options: CommonOptions): Promise<void> {
  const text = await contentsOf(file)
  await withNewEngine(options, async (engine) => {
    try {
      const { name, version, definitionHash } = await engine.submit(text)
      if (options.json) return printJson({ name, version, definitionHash })
      print(`'${plain(name)}' version ${paint('bold', String(version))}  ${definitionHash}`)
      const command = pawlCommand('start', [name], { placeholder: "'<input as JSON>'" })
      print(paint('dim', `start it: ${suggestedCommand(options, command)}`))
    } catch (error) {
      const problems = problemsIn(error)
      if (!problems) throw error
      if (options.json) printJson({ problems })
      else report(file, problems)
      process.exitCode = 1
    }
  })
}

// Reads at most one byte more than the limit, because a device file has no end.
async function contentsOf(file: string): Promise<string> {
  try {
    await using handle = await open(file)
    const buffer = Buffer.alloc(limits.graphBytesMax + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = (await handle.read(buffer, length, buffer.length - length)).bytesRead
    }
    return buffer.toString('utf8', 0, length)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new PawlError('INPUT_INVALID', `there is no file ${file}; expected a graph in JSON or YAML.`)
    const why = `${file} cannot be read: ${code ?? message}. Expected a graph in JSON or YAML.`
    throw new PawlError('INPUT_INVALID', why)
  }
}

function problemsIn(error: unknown): readonly GraphProblem[] | undefined {
  if (!(error instanceof PawlError)) return undefined
  return (error.details as { readonly problems?: readonly GraphProblem[] } | undefined)?.problems
}

function report(file: string, problems: readonly GraphProblem[]): void {
  const count = counted(problems.length, 'problem')
  printError(errorLine(`${plain(file)} has ${count} (DEFINITION_INVALID)`))
  for (const { path, code, message } of problems) {
    const place = path === '' ? '' : `${path}: `
    printError(`  ${plain(`${place}${message} (${code})`)}`)
  }
}
