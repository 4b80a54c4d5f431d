// Works until nothing is due, then ends: one call of a cron job, here or on a server.
import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Duration } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Worked } from '../../index.ts'
import { withApi } from '../api.ts'
import { type LogFormat, loggerOf, logOption } from '../log-option.ts'
import { type CommonOptions, openStore, parseCount, repeated, withCommonOptions } from '../options.ts'
import { counted, plain, print, printJson, relative, spent } from '../output.ts'
import { servedDefinitions } from './worker.ts'

interface Options extends CommonOptions {
  readonly for?: string
  readonly linger?: string
  readonly queue?: readonly string[]
  readonly concurrency?: number
  readonly handlers?: true
  readonly build?: string
  readonly log?: LogFormat
}

/** Options of the process that works; a server has its own. */
const LOCAL = ['concurrency', 'handlers', 'build'] as const

export function workCommand(): Command {
  return withCommonOptions(
    new Command('work')
      .description('work until nothing is due or the time is up, then end: for cron jobs and serverless functions')
      .argument('[files...]', 'TypeScript or JavaScript modules; none with --url, where the server has the code')
      .option('--for <duration>', 'how long it may take, with the end of running steps (default: 20s)')
      .option('--linger <duration>', 'wait for what becomes due within this time (default: as long as --for lasts)')
      .option('--queue <name>', "a queue to serve (repeatable; default: 'default')", repeated)
      .option('--concurrency <count>', 'how many runs to hold and steps to run at once', parseCount)
      .option('--handlers', 'add the built-in handlers, with safe settings')
      .option('--build <name>', 'the name of this build (default: derived from the code)')
      .addOption(logOption()),
  ).action(work)
}

async function work(files: readonly string[], options: Options): Promise<void> {
  const worked = options.url === undefined ? await workHere(files, options) : await workThere(files, options)
  if (options.json) return printJson(worked)
  const { ended, ms, runs, steps, turns, nextDue } = worked
  const why = { idle: 'nothing is due', time: 'the time is up', stopped: 'it was stopped' }[ended]
  const next = nextDue === undefined ? 'when a message or a new run arrives' : relative(nextDue, systemClock.now())
  print(`Worked for ${spent(0, ms)}: ${why}.`)
  print(`  ended   ${counted(runs, 'run')}, ${counted(steps, 'step')}, in ${counted(turns, 'turn')}`)
  print(`  next    ${next}`)
}

async function workHere(files: readonly string[], options: Options): Promise<Worked> {
  const definitions = await servedDefinitions(files, options)
  const { build, concurrency } = options
  const engine = await openStore(options, { ...definitions, logger: loggerOf(options.log), ...defined({ build }) })
  try {
    return await engine.workUntilIdle({ ...given(options), ...defined({ concurrency }) })
  } finally {
    await engine.close()
  }
}

async function workThere(files: readonly string[], options: Options): Promise<Worked> {
  const local = LOCAL.find((name) => options[name] !== undefined)
  const what = files.length > 0 ? `the file ${plain(files[0] ?? '')}` : local && `--${local}`
  if (what !== undefined) {
    throw new PawlError(
      'INPUT_INVALID',
      `${what} is for a worker in this process, and --url names a server. Leave it out.`,
    )
  }
  return withApi(options, (api) => api().workUntilIdle(given(options)))
}

// The engine and the server check the durations.
function given({ for: time, linger, queue }: Options) {
  return defined({ for: time as Duration | undefined, linger: linger as Duration | undefined, queues: queue })
}
