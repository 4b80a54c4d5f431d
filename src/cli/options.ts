// What commands share: the options of the store, `--json`, how arguments are parsed, and how a run is named.
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { PawlError } from '../core/base/errors.ts'
import { isUuid } from '../core/base/names.ts'
import { shellWord } from '../core/base/shell.ts'
import type { AttributeScalar } from '../core/index.ts'
import { type Attributes, type Engine, type OpenOptions, open, type RunRef } from '../index.ts'
import { installedCommand } from './invocation.ts'
import { loadCodecs } from './load-definitions.ts'
import { showStore } from './output.ts'
import { type AnyClient, refuseServer, type ServerOption, withServer, withServerOptions } from './server-option.ts'

const DEFAULT_STORE = 'sqlite:./pawl.db'

export interface StoreOption extends ServerOption {
  readonly store: string
  /** A file that exports the codecs of the store. */
  readonly codecs?: string
}

export interface CommonOptions extends StoreOption {
  readonly json?: true
}

/** Adds `--store` and `--url`. */
export function withStoreUrl(command: Command): Command {
  const store = new Option('--store <url>', 'the URL of the store').env('PAWL_STORE').default(DEFAULT_STORE)
  return withServerOptions(command.addOption(store))
}

/** Adds `--store`, `--url` and `--codecs`. */
export function withStoreOptions(command: Command): Command {
  return withStoreUrl(command).addOption(
    new Option('--codecs <file>', 'a module that exports the codecs of the store').env('PAWL_CODECS'),
  )
}

/** Adds `--store`, `--url`, `--codecs` and `--json`. */
export function withCommonOptions(command: Command): Command {
  return withStoreOptions(command).option('--json', 'print only JSON')
}

/** A command whose first argument is a run. */
export function commandOnRun(verb: string, description: string): Command {
  const run = 'a run id, or a workflow id (its newest run)'
  return new Command(verb).description(description).argument('<id>', run)
}

/** Uses a server, or an existing store. A missing store is an error, so that reading creates no file. */
export function withClient<T>(options: StoreOption, use: (client: AnyClient) => Promise<T>): Promise<T> {
  if (options.url !== undefined) return withServer(options.url, options, use)
  return withEngine(options, 'a store', use)
}

/** Uses a server, or a store, which is created if it does not exist. */
export function withNewClient<T>(options: StoreOption, use: (client: AnyClient) => Promise<T>): Promise<T> {
  if (options.url !== undefined) return withServer(options.url, options, use)
  return withNewEngine(options, 'a store', use)
}

/** Opens an existing store, uses it and closes it. `what` is what needs the store itself. */
export async function withEngine<T>(
  options: StoreOption,
  what: string,
  use: (engine: Engine) => Promise<T>,
  definitions: OpenOptions = {},
): Promise<T> {
  refuseServer(options, what)
  refuseMissing(options.store, '--store, PAWL_STORE')
  return withNewEngine(options, what, use, definitions)
}

/** Throws if the file of a store does not exist, because opening it would create it. */
export function refuseMissing(store: string, givenBy: string): void {
  const missing = missingFile(store)
  if (missing === undefined) return
  const kind = /^file:/i.test(store) ? 'folder' : 'file'
  const problem = `there is no ${kind} ${missing}, so there is no store in it`
  throw new PawlError('STORE_URL_INVALID', `${problem}. Check ${givenBy} and the current folder.`)
}

/** Opens a store, which is created if it does not exist, uses it and closes it. */
export async function withNewEngine<T>(
  options: StoreOption,
  what: string,
  use: (engine: Engine) => Promise<T>,
  definitions: OpenOptions = {},
): Promise<T> {
  refuseServer(options, what)
  const engine = await openStore(options, definitions)
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** The server or the store, as messages name it. */
export function showPlace({ url, store }: StoreOption): string {
  return url ?? showStore(store)
}

/** Whether the store is the default one and does not exist yet. */
export function isMissingDefault({ store, url }: StoreOption): boolean {
  return url === undefined && store === DEFAULT_STORE && missingFile(store) !== undefined
}

/** The file of a store that does not exist yet. */
function missingFile(store: string): string | undefined {
  const path = /^(?:sqlite|file):(?:\/\/(?=\/))?([^?]+)/i.exec(store)?.[1]
  if (path === undefined) return undefined
  const file = resolve(path)
  // If the folder is missing, too, the error of the store explains it.
  return existsSync(dirname(file)) && !existsSync(file) ? file : undefined
}

/** Opens the store. Codecs from `--codecs` replace those that a file of definitions exports. */
export async function openStore({ store, codecs }: StoreOption, options: OpenOptions = {}): Promise<Engine> {
  if (/^memory:/i.test(store)) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `a store '${store}' ends with its process, so other commands cannot see its runs. Use a file: --store sqlite:./pawl.db`,
    )
  }
  return open(store, {
    ...options,
    ...(codecs !== undefined && { codecs: await loadCodecs(codecs) }),
  })
}

/** A UUID is a run id; any other text is a workflow id. */
export function runRef(id: string): RunRef {
  return isUuid(id) ? id : { workflowId: id }
}

/** Parses a JSON argument. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, finite)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new InvalidArgumentError(
      `It is not JSON: ${problem}. Quote it for your shell, such as '{"id": 1}' or '"text"'.`,
    )
  }
}

// JSON can contain numbers that are too large for JavaScript and would become Infinity.
function finite(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  const source = context?.source?.slice(0, 40) ?? 'a number'
  throw new InvalidArgumentError(`${source} is too large for a number. Write it as text.`)
}

export function parseInteger(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number.')
}

export function parseCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('Expected a whole number above 0.')
}

/** Parses an attribute to find runs by. Each name may be given once. */
export function parseFilter(
  text: string,
  before: Readonly<Record<string, AttributeScalar>> = {},
): Readonly<Record<string, AttributeScalar>> {
  const [name, value] = parseAttribute(text)
  if (!Object.hasOwn(before, name)) return { ...before, [name]: value }
  throw new InvalidArgumentError(`Give '${name}' once: a list is found by any of its texts.`)
}

/** Parses an attribute to start a run with. A name that is given several times becomes a list of texts. */
export function parseAttributes(text: string, before: Attributes = {}): Attributes {
  const [name, value] = parseAttribute(text)
  const known = Object.hasOwn(before, name) ? [before[name]].flat().map(String) : undefined
  return { ...before, [name]: known ? [...known, String(value)] : value }
}

/** Parses `name=value`. The value is a number or a boolean if it is written like one, else text. */
function parseAttribute(text: string): [name: string, value: AttributeScalar] {
  const at = text.indexOf('=')
  if (at <= 0) throw new InvalidArgumentError('Expected <name>=<value>.')
  const value = text.slice(at + 1)
  // A number that would be printed differently is text: a zip code, or more digits than a number can hold.
  const isNumber = value.trim() !== '' && String(Number(value)) === value
  const isFlag = value === 'true' || value === 'false'
  const known = isFlag ? value === 'true' : isNumber ? Number(value) : value
  return [text.slice(0, at), known]
}

/** The command as it can be pasted into this shell, with `--store` or `--url` if needed to reach the same place. */
export function suggestedCommand(options: StoreOption, command: string): string {
  const flag = options.url === undefined ? storeFlag(options) : serverFlag(options.url)
  // The option follows the verb, because after `--` it would be an argument.
  return command.replace(
    /\bpawl ((?:token )?[a-z]+)(?= |$)/,
    (_, verb: string) => `${installedCommand()} ${verb}${flag}`,
  )
}

function storeFlag({ store }: StoreOption): string {
  const hasSecret = showStore(store) !== store
  const isFound = store === (process.env['PAWL_STORE'] ?? DEFAULT_STORE)
  return isFound ? '' : ` --store ${hasSecret ? "'<the same>'" : shellWord(store)}`
}

function serverFlag(url: string): string {
  return url === process.env['PAWL_URL'] ? '' : ` --url ${shellWord(url)}`
}

/** A text with its commands as they can be pasted: those after a colon or in code quotes, as `pawl` is also a word. */
export function withCommands(options: StoreOption, text: string): string {
  return text.replace(/(?<=: |`)pawl (?:token )?[a-z]+(?=[ `]|$)/gm, (command) => suggestedCommand(options, command))
}

/** The store or the server that the arguments name, for an error that is reported after its command. */
export function placeIn(argv: readonly string[]): StoreOption {
  const store = givenIn(argv, 'store')
  const url = givenIn(argv, 'url') ?? (store === undefined ? process.env['PAWL_URL'] || undefined : undefined)
  const known = store ?? process.env['PAWL_STORE'] ?? DEFAULT_STORE
  return { store: known, ...(url !== undefined && { url }) }
}

function givenIn(argv: readonly string[], option: string): string | undefined {
  const at = argv.findLastIndex((word) => word === `--${option}` || word.startsWith(`--${option}=`))
  if (at < 0) return undefined
  const word = argv[at] ?? ''
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : argv[at + 1]
}

/** Collects the values of a repeatable option. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}
