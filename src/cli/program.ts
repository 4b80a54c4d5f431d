// All commands, and the exit codes: 0 success, 1 refused or failed, 2 wrong usage. With `--json` an error is printed as
// JSON on standard error. To add a verb, add a file in commands/ and list its command here.
import { Command, CommanderError } from 'commander'
import { CancelledError, PawlError, RunError } from '../core/base/errors.ts'
import { version } from '../operations/version.ts'
import { auditCommand } from './commands/audit.ts'
import { batchCommand } from './commands/batch.ts'
import { buildsCommand } from './commands/builds.ts'
import { cancelCommand } from './commands/cancel.ts'
import { checkCommand } from './commands/check.ts'
import { completionCommand } from './commands/completion.ts'
import { definitionsCommand } from './commands/definitions.ts'
import { demoCommand } from './commands/demo.ts'
import { devCommand } from './commands/dev.ts'
import { discardCommand } from './commands/discard.ts'
import { doctorCommand } from './commands/doctor.ts'
import { exportCommand } from './commands/export.ts'
import { forkCommand } from './commands/fork.ts'
import { healthCommand } from './commands/health.ts'
import { initCommand } from './commands/init.ts'
import { mcpCommand } from './commands/mcp.ts'
import { migrateCommand } from './commands/migrate.ts'
import { moveCommand } from './commands/move.ts'
import { pauseCommand } from './commands/pause.ts'
import { queryCommand } from './commands/query.ts'
import { queuesCommand } from './commands/queues.ts'
import { resetCommand } from './commands/reset.ts'
import { resolveCommand } from './commands/resolve.ts'
import { resumeCommand } from './commands/resume.ts'
import { purgeCommand, retentionCommand } from './commands/retention.ts'
import { retryCommand } from './commands/retry.ts'
import { runCommand } from './commands/run.ts'
import { runsCommand } from './commands/runs.ts'
import { scheduleCommand, schedulesCommand } from './commands/schedule.ts'
import { serveCommand } from './commands/serve.ts'
import { signalCommand } from './commands/signal.ts'
import { startCommand } from './commands/start.ts'
import { stepsCommand } from './commands/steps.ts'
import { streamCommand } from './commands/stream.ts'
import { submitCommand } from './commands/submit.ts'
import { tailCommand } from './commands/tail.ts'
import { terminateCommand } from './commands/terminate.ts'
import { tokenCommand } from './commands/token.ts'
import { triggerCommand } from './commands/trigger.ts'
import { updateCommand } from './commands/update.ts'
import { whyCommand } from './commands/why.ts'
import { workCommand } from './commands/work.ts'
import { workerCommand } from './commands/worker.ts'
import { workersCommand } from './commands/workers.ts'
import { installedCommand } from './invocation.ts'
import { placeIn, withCommands } from './options.ts'
import { errorLine, print, printError, proseLines } from './output.ts'

const examples = `
Examples:
  $ pawl dev ./workflows.ts                    run all you need, and reload the file when it changes
  $ pawl demo                                  kill a worker and lose nothing
  $ pawl worker ./workflows.ts                 run a worker for what the file exports
  $ pawl start order '{"id": "A1"}' --wait     start a run and print its result
  $ pawl submit ./report.yaml                  store a graph, for any worker to run
  $ pawl runs --status failed
  $ pawl run order-A1                          show its record and history
  $ pawl tail order-A1                         follow it until it ends
  $ pawl steps order-A1                        list its steps
  $ pawl why order-A1                          explain why it waits

The store is --store, else PAWL_STORE, else sqlite:./pawl.db in the current folder. With --url, or PAWL_URL, a
server is used instead; its token is in PAWL_TOKEN, or in the file that --token-file names.`

/** Errors of what the user typed, not of what is in the store. */
const usageCodes: ReadonlySet<string> = new Set(['INPUT_INVALID', 'RUN_ID_INVALID', 'STORE_URL_INVALID'])

export async function main(argv: readonly string[]): Promise<number> {
  process.stdout.on('error', exitOnClosedPipe)
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
    report(error, isJson, argv)
    return usageCodes.has(codeOf(error)) ? 2 : 1
  }
}

/** All commands, by the topics of the help. */
function groups(): Readonly<Record<string, readonly Command[]>> {
  return {
    'Processes:': [
      ...[devCommand(), serveCommand(), workerCommand(), workCommand(), mcpCommand(), initCommand(), demoCommand()],
      completionCommand(),
    ],
    'Runs:': [
      ...[startCommand(), runsCommand(), runCommand(), tailCommand(), streamCommand(), stepsCommand(), whyCommand()],
      ...[
        signalCommand(),
        queryCommand(),
        updateCommand(),
        triggerCommand(),
        cancelCommand(),
        terminateCommand(),
        pauseCommand(),
        resumeCommand(),
      ],
      ...[retryCommand(), resetCommand(), forkCommand(), migrateCommand(), resolveCommand(), discardCommand()],
      batchCommand(),
    ],
    'Definitions and schedules:': [
      ...[submitCommand(), definitionsCommand(), checkCommand(), buildsCommand(), schedulesCommand()],
      scheduleCommand(),
    ],
    'Store and access:': [
      ...[healthCommand(), workersCommand(), queuesCommand(), auditCommand(), exportCommand(), moveCommand()],
      retentionCommand(),
      ...[purgeCommand(), doctorCommand(), tokenCommand()],
    ],
  }
}

function build(isJson: boolean): Command {
  const program = new Command('pawl')
    .description('Durable workflows: start them, run them, and see why they wait.')
    .version(version())
    .addHelpText('after', examples.replaceAll('$ pawl', `$ ${installedCommand()}`))
  const commands = Object.entries(groups()).flatMap(([heading, all]) => all.map((each) => each.helpGroup(heading)))
  const verbs = commands.flatMap((command) => [command, ...command.commands])
  for (const verb of verbs) verb.option('--debug', 'print the stack of an error')
  for (const command of commands) program.addCommand(command)
  for (const command of [program, ...verbs]) {
    command.exitOverride().showHelpAfterError('(add --help for the options)')
    command.configureOutput({
      writeOut: (text) => print(withoutNewline(text)),
      writeErr: (text) => (isJson ? undefined : printError(withoutNewline(text))),
    })
  }
  return program
}

function report(error: unknown, isJson: boolean, argv: readonly string[]): void {
  const message = error instanceof Error ? error.message : String(error)
  if (isJson) reportJson(codeOf(error), message, detailsOf(error))
  else printError(errorLine(`${proseLines(withCommands(placeIn(argv), message))} (${codeOf(error)})`))
  if (argv.includes('--debug') && error instanceof Error) printError(error.stack ?? '')
}

function reportJson(code: string, message: string, details?: unknown): void {
  const error = { code, message, ...(details !== undefined && { details }) }
  printError(JSON.stringify({ error }, null, 2))
}

/** The stored failure of a run, or the details of an error. */
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

// commander ends its texts with a newline, and `print` adds one.
function withoutNewline(text: string): string {
  return text.replace(/\n$/, '')
}

// `pawl runs | head` closes the pipe early, which is not an error.
function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}
