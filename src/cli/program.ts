// The commands, put together, and how they end: 0 is fine, 1 is refused or failed, 2 is not understood. With `--json` an error
// is JSON, too, on standard error.
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { CancelledError, PawlError, RunError } from '../core/base/errors.ts'
import { buildsCommand } from './commands/builds.ts'
import { cancelCommand } from './commands/cancel.ts'
import { checkCommand } from './commands/check.ts'
import { definitionsCommand } from './commands/definitions.ts'
import { demoCommand } from './commands/demo.ts'
import { doctorCommand } from './commands/doctor.ts'
import { exportCommand } from './commands/export.ts'
import { migrateCommand } from './commands/migrate.ts'
import { operationCommands } from './commands/operations.ts'
import { queryCommand } from './commands/query.ts'
import { resolveCommand } from './commands/resolve.ts'
import { runCommand } from './commands/run.ts'
import { runsCommand } from './commands/runs.ts'
import { scheduleCommand, schedulesCommand } from './commands/schedules.ts'
import { signalCommand } from './commands/signal.ts'
import { startCommand } from './commands/start.ts'
import { stepsCommand } from './commands/steps.ts'
import { submitCommand } from './commands/submit.ts'
import { triggerCommand } from './commands/trigger.ts'
import { updateCommand } from './commands/update.ts'
import { whyCommand } from './commands/why.ts'
import { workerCommand } from './commands/worker.ts'
import { errorLine, print, printError, proseLines } from './output.ts'

const examples = `
Examples:
  $ pawl demo                                  see a worker killed and nothing lost
  $ pawl worker ./workflows.ts                 serve what the file exports
  $ pawl start order '{"id": "A1"}' --wait     start a run and print its result
  $ pawl submit ./report.yaml                  keep a graph in the store, for any worker to run
  $ pawl runs --status failed
  $ pawl run order-A1                          its record and its history
  $ pawl steps order-A1                        where each of its steps stands
  $ pawl why order-A1                          why it is not moving

The store is --store, else PAWL_STORE, else sqlite:./pawl.db in the current folder.`

/** What somebody typed is wrong, and not what is in the store. */
const usageCodes: ReadonlySet<string> = new Set([
  'INPUT_INVALID',
  'RUN_ID_INVALID',
  'STORE_URL_INVALID',
])

export async function main(argv: readonly string[]): Promise<number> {
  process.stdout.on('error', hangUp)
  const isJson = argv.includes('--json')
  const program = build(isJson)
  try {
    await program.parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : 0
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      if (isJson) reportJson('USAGE', error.message.replace(/^error: /, ''))
      return 2
    }
    report(error, isJson, argv.includes('--debug'))
    return usageCodes.has(codeOf(error)) ? 2 : 1
  }
}

function build(isJson: boolean): Command {
  const program = new Command('pawl')
    .description('Durable workflows: start them, run them, and see why they wait.')
    .version(version())
    .addHelpText('after', examples)
  const commands = [
    demoCommand(),
    workerCommand(),
    submitCommand(),
    definitionsCommand(),
    startCommand(),
    triggerCommand(),
    resolveCommand(),
    runsCommand(),
    runCommand(),
    stepsCommand(),
    whyCommand(),
    signalCommand(),
    queryCommand(),
    updateCommand(),
    cancelCommand(),
    ...operationCommands(),
    migrateCommand(),
    buildsCommand(),
    schedulesCommand(),
    scheduleCommand(),
    checkCommand(),
    exportCommand(),
    doctorCommand(),
  ]
  for (const command of commands) {
    command.option('--debug', 'print the stack of an error')
    program.addCommand(command)
  }
  for (const command of [program, ...commands]) {
    command.exitOverride().showHelpAfterError('(add --help for the options)')
    command.configureOutput({
      writeOut: (text) => print(withoutNewline(text)),
      writeErr: (text) => (isJson ? undefined : printError(withoutNewline(text))),
    })
  }
  return program
}

function version(): string {
  // From src and from dist alike, the manifest is two folders up.
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

function report(error: unknown, isJson: boolean, debug: boolean): void {
  const message = error instanceof Error ? error.message : String(error)
  if (isJson) reportJson(codeOf(error), message, detailsOf(error))
  else printError(errorLine(`${proseLines(message)} (${codeOf(error)})`))
  if (debug && error instanceof Error) printError(error.stack ?? '')
}

function reportJson(code: string, message: string, details?: unknown): void {
  const error = { code, message, ...(details !== undefined && { details }) }
  printError(JSON.stringify({ error }, null, 2))
}

/** A failed run, as it is stored; and what else an error knows. */
function detailsOf(error: unknown): unknown {
  if (error instanceof RunError) return { runId: error.runId, failure: error.failure }
  return error instanceof PawlError ? error.details : undefined
}

function codeOf(error: unknown): string {
  if (error instanceof RunError) return 'RUN_FAILED'
  if (error instanceof CancelledError) return 'RUN_CANCELLED'
  const code: unknown = (error as { readonly code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : 'UNEXPECTED'
}

// Help and errors come with the newline that is written behind everything.
function withoutNewline(text: string): string {
  return text.replace(/\n$/, '')
}

// `pawl runs | head` closes the pipe: whoever read it has seen enough.
function hangUp(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
