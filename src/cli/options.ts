// What commands have in common: the store they talk to, JSON arguments, and how a run is named.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isUuid } from '../core/base/digest.ts'
import { PawlError } from '../core/base/errors.ts'
import { shellWord } from '../core/base/shell.ts'
import {
  type AttributeScalar,
  type Attributes,
  type Engine,
  type OpenOptions,
  open,
  type RunRef,
} from '../index.ts'
import { codecsIn } from './definitions-of.ts'
import { showStore } from './output.ts'
import { installedCommand } from './self.ts'

const DEFAULT_STORE = 'sqlite:./pawl.db'

export interface StoreOption {
  readonly store: string
  /** A file that exports them. */
  readonly codecs?: string
}

export interface ReadingOptions extends StoreOption {
  readonly json?: true
}

/** For a command that looks at a store from outside. */
export function withPlace(command: Command): Command {
  return command.addOption(
    new Option('--store <url>', 'where the runs are').env('PAWL_STORE').default(DEFAULT_STORE),
  )
}

export function withStore(command: Command): Command {
  return withPlace(command).addOption(
    new Option('--codecs <file>', 'a module that exports the codecs of the store').env(
      'PAWL_CODECS',
    ),
  )
}

/** Options of a command that answers a question. */
export function reading(command: Command): Command {
  return withStore(command).option('--json', 'print JSON and nothing else')
}

/** Opens a store that exists, does one thing, and lets go of it. A question leaves no new file behind. */
export async function withEngine<T>(
  options: StoreOption,
  use: (engine: Engine) => Promise<T>,
  definitions: OpenOptions = {},
): Promise<T> {
  const missing = missingFile(options.store)
  if (missing !== undefined) {
    const what = /^file:/i.test(options.store) ? 'folder' : 'file'
    throw new PawlError(
      'STORE_URL_INVALID',
      `there is no ${what} ${missing}, and so no run in it. Check --store, PAWL_STORE and the current folder.`,
    )
  }
  return withNewEngine(options, use, definitions)
}

/** The same, for a store that may begin with this. */
export async function withNewEngine<T>(
  options: StoreOption,
  use: (engine: Engine) => Promise<T>,
  definitions: OpenOptions = {},
): Promise<T> {
  const engine = await openStore(options, definitions)
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** Whether the store is the one that no option and no variable named, and nothing has begun it. */
export function isUnbegun({ store }: StoreOption): boolean {
  return store === DEFAULT_STORE && missingFile(store) !== undefined
}

/** The file a store would be in, if it is not there yet. */
function missingFile(store: string): string | undefined {
  const path = /^(?:sqlite|file):(?:\/\/(?=\/))?([^?]+)/i.exec(store)?.[1]
  if (path === undefined) return undefined
  const file = resolve(path)
  // A folder that is missing too is a mistake of another kind, which the store explains.
  return existsSync(dirname(file)) && !existsSync(file) ? file : undefined
}

/** Codecs that were named go before those that a file of definitions brings along. */
export async function openStore(
  { store, codecs }: StoreOption,
  options: OpenOptions = {},
): Promise<Engine> {
  if (/^memory:/i.test(store)) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `'${store}' ends with the process that opened it, so no other command could see its runs. Use a file: --store sqlite:./pawl.db`,
    )
  }
  return open(store, {
    ...options,
    ...(codecs !== undefined && { codecs: await codecsIn(codecs) }),
  })
}

/** A UUID is a run id; anything else is a name somebody chose. */
export function refOf(id: string): RunRef {
  return isUuid(id) ? id : { workflowId: id }
}

/** For commander: an argument that must be JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, finite)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new InvalidArgumentError(
      `It is not JSON: ${problem}. Quote it for your shell, as in '{"id": 1}' or '"text"'.`,
    )
  }
}

// JSON may name larger numbers than there are; they would come out as Infinity.
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

/** Attributes to find runs by, each once. */
export function parseFilter(
  text: string,
  before: Readonly<Record<string, AttributeScalar>> = {},
): Readonly<Record<string, AttributeScalar>> {
  const [name, value] = parseAttribute(text)
  if (!Object.hasOwn(before, name)) return { ...before, [name]: value }
  throw new InvalidArgumentError(`Give '${name}' once: a list is found by any one of its texts.`)
}

/** Attributes to start a run with; one that is given several times is a list of texts. */
export function parseAttributes(text: string, before: Attributes = {}): Attributes {
  const [name, value] = parseAttribute(text)
  const known = Object.hasOwn(before, name) ? [before[name]].flat().map(String) : undefined
  return { ...before, [name]: known ? [...known, String(value)] : value }
}

/** `name=value`: a number, true or false where it looks like one, and otherwise text. */
function parseAttribute(text: string): [name: string, value: AttributeScalar] {
  const at = text.indexOf('=')
  if (at <= 0) throw new InvalidArgumentError('Expected <name>=<value>.')
  const value = text.slice(at + 1)
  // What would not be written the same way is text: a zip code, or a number with more digits than numbers have.
  const isNumber = value.trim() !== '' && String(Number(value)) === value
  const isFlag = value === 'true' || value === 'false'
  const known = isFlag ? value === 'true' : isNumber ? Number(value) : value
  return [text.slice(0, at), known]
}

/** A suggested command as it can be pasted here, with what it needs to reach the same store. */
export function reaching({ store }: StoreOption, command: string): string {
  const hasSecret = showStore(store) !== store
  const isFound = store === (process.env['PAWL_STORE'] ?? DEFAULT_STORE)
  const flag = isFound ? '' : ` --store ${hasSecret ? "'<the same>'" : shellWord(store)}`
  // Right behind the verb: what comes last may be no option.
  return command.replace(
    /\bpawl ([a-z]+)(?= |$)/,
    (_, verb: string) => `${installedCommand()} ${verb}${flag}`,
  )
}

export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}
