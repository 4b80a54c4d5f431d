// `--url`: a command uses a server instead of a store.
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { PawlError } from '../core/base/errors.ts'
import { type ConnectOptions, connect, type PawlClient, type RemoteBuilds, type RemoteClient } from '../remote/index.ts'

/** What commands use: an engine on a store, or the client of a server. */
export type AnyClient = PawlClient & { readonly builds: Pick<RemoteBuilds, 'isKnown'> }

export interface ServerOption {
  /** The address of the server to use. */
  readonly url?: string
  readonly tokenFile?: string
}

/** Longer than a restart of a server takes, and no longer than a person waits for an error. */
const PATIENCE = '10s'

/** Adds `--url` and `--token-file`. */
export function withServerOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the URL of a server to use instead of a store (env: PAWL_URL)')
    .option(
      '--token-file <file>',
      'a file with the token for the server (env: PAWL_TOKEN_FILE, or PAWL_TOKEN for the token itself)',
    )
    .hook('preAction', (_, chosen) => chooseServer(chosen))
}

/** Leaves the options of a server out of the help of a command that refuses them. */
export function withoutServerHelp(command: Command): Command {
  for (const option of command.options) if (/^--(url|token-file)$/.test(option.long ?? '')) option.hideHelp()
  return command
}

// Flags come before the environment. A command that could mean two places is refused, not guessed.
function chooseServer(command: Command): void {
  const isTyped = (option: string): boolean => command.getOptionValueSource(option) === 'cli'
  const known = process.env['PAWL_URL'] || undefined
  if (isTyped('url') && isTyped('store')) throw usage('both --url and --store are given. Give one of them.')
  if (!isTyped('url') && !isTyped('store') && known !== undefined) {
    if (process.env['PAWL_STORE']) throw usage('both PAWL_URL and PAWL_STORE are set. Give --url or --store.')
    command.setOptionValue('url', known)
  }
  const isServer = command.getOptionValue('url') !== undefined
  if (isServer && isTyped('codecs')) throw usage('--codecs is for a store; a server has its own codecs. Leave it out.')
  if (!isServer && isTyped('tokenFile')) throw usage('--token-file needs --url: the server that the token is for.')
}

function usage(message: string): PawlError {
  return new PawlError('INPUT_INVALID', message)
}

/** Uses the server and ends the connection. */
export async function withServer<T>(
  url: string,
  options: ServerOption,
  use: (client: RemoteClient) => Promise<T>,
): Promise<T> {
  await using client = connect(url, await connectOptions(options))
  try {
    return await use(client)
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'UNAUTHENTICATED') throw error
    const how = 'The command line reads it from PAWL_TOKEN, or from the file that --token-file names.'
    throw new PawlError(error.code, `${error.message} ${how}`, { cause: error })
  }
}

/** The token of the option, else of the environment. */
export async function connectOptions({ tokenFile }: ServerOption): Promise<ConnectOptions> {
  const file = tokenFile ?? (process.env['PAWL_TOKEN_FILE'] || undefined)
  const token = file === undefined ? process.env['PAWL_TOKEN'] || undefined : await tokenIn(file)
  return { timeout: PATIENCE, ...(token !== undefined && { token }) }
}

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw usage(`--token-file ${file} cannot be read: ${code ?? message}. Expected a file with a token.`)
  }
}

/** Throws if a server is given to a command that needs the store itself. */
export function refuseServer({ url }: ServerOption, what: string): void {
  if (url === undefined) return
  const message = `${what} needs the store itself, and --url or PAWL_URL names a server. Give --store.`
  throw new PawlError('NOT_SUPPORTED', message)
}
