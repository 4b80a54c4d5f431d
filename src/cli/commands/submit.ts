// Keeps a graph given as data in the store, or says everything that is wrong with it.
import { open } from 'node:fs/promises'
import { Command } from 'commander'
import { type GraphProblem } from '../../addons/documents/problems.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { pawlCommand } from '../../core/base/shell.ts'
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

// No more than is needed to refuse it for its size: a device has no end.
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
    if (code === 'ENOENT') throw new PawlError('INPUT_INVALID', `there is no file ${file}.`)
    const why = `${file} cannot be read: ${code ?? message}. Expected a graph in JSON or YAML.`
    throw new PawlError('INPUT_INVALID', why)
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
