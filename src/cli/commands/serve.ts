// Serves the HTTP API, and works if it has modules: the command for production.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { milliseconds } from '../../core/base/time.ts'
import { placeOf, type ServeConfig } from '../../server/config.ts'
import { type ServerOptions, server } from '../../server/index.ts'
import { Supervisor } from '../code/supervisor.ts'
import { loggerOf } from '../log-option.ts'
import { openStore, repeated } from '../options.ts'
import { errorLine, paint, plain, print, printError, printJson, printTable, proseLines, showStore } from '../output.ts'
import { readSettings, type Settings, settings } from '../serve/settings.ts'
import { stopSignal } from '../stop-signal.ts'

interface Options {
  readonly config?: string
  readonly store?: string
  readonly listen?: string
  readonly tokenFile?: string
  readonly module?: readonly string[]
  readonly codecs?: string
  readonly log?: string
  readonly printConfig?: true
  readonly json?: true
}

const FILES = ['pawl.config.ts', 'pawl.config.json'] as const

// The variables are not commander's, because the file comes after them.
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve the HTTP API in production, and work if modules are configured')
    .option('--config <file>', `the settings (default: ${FILES.join(' or ')}, if there is one)`)
    .option('--store <url>', 'the URL of the store (PAWL_STORE)')
    .option('--listen <address>', 'where to listen, such as 0.0.0.0:7295 (PAWL_LISTEN)')
    .option('--token-file <file>', 'a file with a token of the scope admin (PAWL_TOKEN_FILE)')
    .option('--module <file>', 'a file that exports workflows (repeatable; PAWL_MODULES)', repeated)
    .option('--codecs <file>', 'a module that exports the codecs of the store (PAWL_CODECS)')
    .option('--log <format>', 'how to log to standard error: text or json (PAWL_LOG)')
    .option('--print-config', 'print the settings and where each comes from, and do not serve')
    .option('--json', 'with --print-config: print JSON')
    .action(serve)
}

async function serve({ config: named, module: modules, ...rest }: Options): Promise<void> {
  const file = named ?? FILES.find((each) => existsSync(each))
  const flags = { ...rest, modules }
  const all = await readSettings({ flags, environment: process.env, ...defined({ file }) })
  for (const note of all.notes) printError(paint('yellow', `note: ${note}`))
  if (rest.printConfig) printConfig(all, rest.json ?? false)
  else await run(all.config)
}

async function run(config: ServeConfig): Promise<void> {
  const { store = 'sqlite:./pawl.db', listen = `127.0.0.1:${limits.serverPort}`, codecs, modules = [] } = config
  const place = placeOf(listen)
  if (!place) throw new PawlError('INPUT_INVALID', `'${listen}' is no address to listen on.`)
  const code = modules.length > 0 ? codeOf(config, store, modules) : undefined
  const { stopped } = stopSignal(() => code?.supervisor.killAll())
  const logger = loggerOf(config.log)
  const opening = openStore({ store, ...defined({ codecs }) }, { logger })
  // A server without a store has nothing to finish.
  const engine = await Promise.race([opening, stopped])
  if (typeof engine === 'string') process.exit(0)
  try {
    const { token, hosts, origins, metrics, metricsFrom } = config
    const given = defined({ token, hosts, origins, metrics, metricsFrom })
    const api = server(engine, { ui: true, ...given, logger, ...(code && askedOf(code.supervisor)) })
    await code?.started
    const { url } = await api.listen(place)
    print(`pawl serves ${paint('bold', `${url}/api/v1`)}`)
    print(`  web UI     ${url}/`)
    print(`  store      ${showStore(store)}`)
    print(
      `  modules    ${modules.map(plain).join(', ') || paint('dim', 'none: it does not work, and answers no query')}`,
    )
    await stopped
    print('stopping: no new connections soon, finishing what is in progress (signal again to stop at once)')
    const { lameDuck = limits.lameDuckMs, grace = limits.serverGraceMs } = config
    const workerGraceMs = milliseconds(config.worker?.gracefulShutdownTimeout ?? limits.graceMs, 'the grace')
    await Promise.all([api.close({ lameDuck, grace }), code?.supervisor.stop(workerGraceMs)])
    print('stopped')
  } finally {
    code?.supervisor.killAll()
    await engine.close()
  }
  process.exit(0)
}

/** What a server asks the process with the modules. */
function askedOf(supervisor: Supervisor): Pick<ServerOptions, 'query' | 'otherMetrics'> {
  return { query: (question) => supervisor.query(question), otherMetrics: () => supervisor.metrics() }
}

/** The process with the modules. `started` rejects if they do not load. */
function codeOf(
  { codecs, log, worker = {} }: ServeConfig,
  store: string,
  files: readonly string[],
): { readonly supervisor: Supervisor; readonly started: Promise<void> } {
  const { queues, concurrency, heartbeatInterval, gracefulShutdownTimeout: grace } = worker
  const lease = heartbeatInterval === undefined ? undefined : 3 * milliseconds(heartbeatInterval, 'the heartbeat')
  const started = Promise.withResolvers<void>()
  let hasStarted = false
  const options = {
    ...defined({ queues, concurrency, grace }),
    ...(lease !== undefined && { lease: Math.round(lease) }),
  }
  const setup = { files, store, ...defined({ codecs, log }), worker: options, isDev: false }
  const supervisor = new Supervisor(setup, limits.graceMs, {
    files: () => {},
    ready: () => {
      hasStarted = true
      started.resolve()
    },
    failed: (message) => {
      // At the start it is the error of the command. Later the process is started again.
      if (hasStarted) printError(errorLine(proseLines(message)))
      else started.reject(new PawlError('DEFINITION_INVALID', message))
    },
    died: (ending, pauseMs) =>
      printError(
        errorLine(`the process with the modules ended: ${ending}. It is started again in ${pauseMs / 1_000} s.`),
      ),
    heard: () => {},
  })
  void supervisor.load()
  // Handled where it is awaited, which may be later.
  started.promise.catch(() => {})
  return { supervisor, started: started.promise }
}

function printConfig({ given }: Settings, json: boolean): void {
  const rows = settings.map(({ path, option }) => {
    const found = given.get(path)
    // Without the quotes of the documentation.
    if (!found) return { path, value: option.otherwise?.replaceAll(/['`]/g, '') ?? 'none', source: 'default' }
    return { path, value: option.isHidden ? '***' : shownValue(path, found.value), source: found.source }
  })
  if (json) return printJson(Object.fromEntries(rows.map(({ path, ...rest }) => [path, rest])))
  const heads = [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }]
  printTable(
    heads,
    rows.map(({ path, value, source }) => [path, plain(value), source === 'default' ? paint('dim', source) : source]),
  )
}

function shownValue(path: string, value: unknown): string {
  const text = typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value)
  return path === 'store' ? showStore(text) : text
}
