// The settings of `pawl serve`: flags before the environment before the file. Every problem is found before any is told,
// each with where it comes from.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject, type Option, problemWith, unknownOption } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { nearest } from '../../core/base/nearest.ts'
import { type ServeConfig, serveConfig, workerConfig } from '../../server/config.ts'

/** A setting, and how variables and flags give it. */
export interface Setting {
  /** `store`, or `worker.concurrency`. */
  readonly path: string
  readonly option: Option<unknown>
  readonly variable?: string
  readonly flag?: string
}

/** A value, and where it comes from. */
export interface Given {
  readonly value: unknown
  /** `PAWL_STORE`, `--store`, `pawl.config.ts` */
  readonly source: string
}

export interface Settings {
  readonly config: ServeConfig
  readonly given: ReadonlyMap<string, Given>
  /** What looks like a mistake, but may be meant for another program. */
  readonly notes: readonly string[]
}

/** What the settings are read from. */
export interface Sources {
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly file?: string
}

const variables: Readonly<Record<string, string>> = {
  store: 'PAWL_STORE',
  listen: 'PAWL_LISTEN',
  hosts: 'PAWL_HOSTS',
  origins: 'PAWL_ORIGINS',
  token: 'PAWL_TOKEN',
  tokenFile: 'PAWL_TOKEN_FILE',
  modules: 'PAWL_MODULES',
  codecs: 'PAWL_CODECS',
  log: 'PAWL_LOG',
  metrics: 'PAWL_METRICS',
  metricsFrom: 'PAWL_METRICS_FROM',
  lameDuck: 'PAWL_LAME_DUCK',
  grace: 'PAWL_GRACE',
  'worker.queues': 'PAWL_WORKER_QUEUES',
  'worker.concurrency': 'PAWL_WORKER_CONCURRENCY',
  'worker.heartbeatInterval': 'PAWL_WORKER_HEARTBEAT_INTERVAL',
  'worker.gracefulShutdownTimeout': 'PAWL_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT',
}

/** Flags of the command, by setting. Secrets have none, because other users of the machine see arguments. */
const flags: Readonly<Record<string, string>> = {
  store: '--store',
  listen: '--listen',
  tokenFile: '--token-file',
  modules: '--module',
  codecs: '--codecs',
  log: '--log',
}

export const settings: readonly Setting[] = [
  ...Object.entries(serveConfig).filter(([name]) => name !== 'worker'),
  ...Object.entries(workerConfig).map(([name, option]) => [`worker.${name}`, option] as const),
].map(([path, option]) => {
  const [variable, flag] = [variables[path], flags[path]]
  return { path, option, ...(variable !== undefined && { variable }), ...(flag !== undefined && { flag }) }
})

export async function readSettings(sources: Sources): Promise<Settings> {
  const problems: string[] = []
  const given = new Map<string, Given>()
  await readFile(sources, given, problems)
  readEnvironment(sources, given, problems)
  readFlags(sources, given, problems)
  const config = configOf(given)
  const token = tokenOf(given, problems)
  problems.push(...missingFiles(given))
  if (problems.length > 0) throw new PawlError('INPUT_INVALID', listed(problems))
  const notes = misspeltVariables(sources)
  return { config: { ...config, ...(token !== undefined && { token }) }, given, notes }
}

function listed(problems: readonly string[]): string {
  const [only] = problems
  if (problems.length === 1) return `a setting is wrong: ${only}`
  return `${problems.length} settings are wrong:\n${problems.map((each) => `  ${each}`).join('\n')}\n`
}

function readFlags({ flags: all }: Sources, given: Map<string, Given>, problems: string[]): void {
  for (const { path, option, flag } of settings) {
    const value = all[path]
    if (flag === undefined || value === undefined) continue
    const problem = problemWith(option, value, { name: flag, of: 'serve', noun: 'flag' })
    if (problem !== undefined) problems.push(problem)
    given.set(path, { value, source: flag })
  }
}

function readEnvironment({ environment }: Sources, given: Map<string, Given>, problems: string[]): void {
  for (const { path, option, variable } of settings) {
    const text = variable === undefined ? undefined : environment[variable]
    if (variable === undefined || text === undefined || text === '') continue
    const value = valueOf(text, option)
    const problem = problemWith(option, value, { name: variable, of: 'the environment', noun: 'variable' })
    if (problem !== undefined) problems.push(problem)
    given.set(path, { value, source: variable })
  }
}

// Not refused: orchestrators set variables of their own, such as PAWL_PORT for a service that is called pawl.
function misspeltVariables({ environment }: Sources): string[] {
  const known = Object.values(variables)
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith('PAWL_') || name === 'PAWL_URL' || known.includes(name)) return []
    const meant = nearest(name, known)
    return meant === undefined ? [] : [`no setting is read from the variable ${name}; did you mean ${meant}?`]
  })
}

/** What a text means: lists are separated by commas. */
function valueOf(text: string, { schema }: Option<unknown>): unknown {
  const type = schema?.['type']
  if (type === 'array')
    return text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '')
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return type === 'integer' && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

async function readFile({ file }: Sources, given: Map<string, Given>, problems: string[]): Promise<void> {
  if (file === undefined) return
  const source = basename(file)
  let config: unknown
  try {
    config = await loadFile(resolve(file))
  } catch (error) {
    problems.push(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return
  }
  if (!isObject(config)) {
    problems.push(`${file} exports no settings; expected: export default defineConfig({ … })`)
    return
  }
  const { worker: inWorker = {}, ...rest } = config
  const worker = isObject(inWorker) ? inWorker : {}
  if (worker !== inWorker)
    problems.push(`option \`worker\` of ${source} is not an object; expected { concurrency: 4 }.`)
  const values = {
    ...rest,
    ...Object.fromEntries(Object.entries(worker).map(([name, value]) => [`worker.${name}`, value])),
  }
  for (const [path, value] of Object.entries(values)) {
    if (value === undefined) continue
    const setting = settings.find((each) => each.path === path)
    const [, inner] = path.split('.')
    if (!setting) {
      const known = inner === undefined ? serveConfig : workerConfig
      problems.push(
        unknownOption(inner ?? path, known, { of: inner === undefined ? source : `\`worker\` of ${source}` }),
      )
      continue
    }
    const problem = problemWith(setting.option, value, { name: path, of: source })
    if (problem !== undefined) problems.push(problem)
    given.set(path, { value: fromFolder(path, value, dirname(resolve(file))), source })
  }
}

async function loadFile(path: string): Promise<unknown> {
  if (!existsSync(path)) throw new Error('there is no such file. Check the path and the current folder')
  if (path.endsWith('.json')) return JSON.parse(readFileSync(path, 'utf8'))
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
  return module.default
}

/** Files that the file names are in its folder. */
function fromFolder(path: string, value: unknown, folder: string): unknown {
  if (path === 'modules' && Array.isArray(value)) return value.map((each) => resolve(folder, String(each)))
  if ((path === 'tokenFile' || path === 'codecs') && typeof value === 'string') return resolve(folder, value)
  return value
}

function configOf(given: ReadonlyMap<string, Given>): ServeConfig {
  const config: Record<string, unknown> = {}
  const worker: Record<string, unknown> = {}
  for (const [path, { value }] of given) {
    const [name, inner] = path.split('.')
    if (inner !== undefined) worker[inner] = value
    else config[name ?? path] = value
  }
  return { ...config, worker }
}

/** The token, also if a file contains it. Of both, the one that is given closer to the command counts. */
function tokenOf(given: Map<string, Given>, problems: string[]): string | undefined {
  const [token, file] = [given.get('token'), given.get('tokenFile')]
  if (!file || (token && rankOf(token) > rankOf(file))) return token?.value as string | undefined
  if (token && rankOf(token) === rankOf(file)) {
    problems.push(`${token.source} and ${file.source} both give the token. Leave out one of them.`)
    return undefined
  }
  const path = String(file.value)
  try {
    const value = readFileSync(path, 'utf8').trim()
    const place = { name: 'token', of: path, isHidden: true } as const
    const problem = problemWith(serveConfig.token, value, place)
    if (problem !== undefined) problems.push(problem)
    return value
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    problems.push(`the token file ${path} (${file.source}) cannot be read: ${code ?? String(error)}`)
    return undefined
  }
}

function rankOf({ source }: Given): number {
  return source.startsWith('--') ? 2 : source.startsWith('PAWL_') ? 1 : 0
}

function missingFiles(given: ReadonlyMap<string, Given>): string[] {
  return ['modules', 'codecs'].flatMap((path) => {
    const { value, source } = given.get(path) ?? { value: [], source: '' }
    const files = [value].flat().filter((file) => typeof file === 'string' && !existsSync(file))
    return files.map((file) => `${source} names ${String(file)}, and there is no such file.`)
  })
}
