// Tokens of the HTTP API, which are kept in a store: made, listed and revoked there, or by a server.
import { Command, Option } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { Tokens } from '../../server/tokens.ts'
import { type CommonOptions, withCommonOptions, withEngine, withNewEngine } from '../options.ts'
import { clockTime, paint, plain, print, printDone, printError, printJson, printTable } from '../output.ts'
import { withServer } from '../server-option.ts'

const NONE = 'No tokens: servers on this machine serve every request, and others refuse to start without a token.'
/** A dev server that was open until now would otherwise refuse its user without a reason. */
const FIRST =
  'this is the first token: from now on, servers of this store refuse requests without one, also if it ends.'

interface CreateOptions extends CommonOptions {
  readonly scope: 'read' | 'operate' | 'admin'
  readonly expires?: string
  readonly namespace: string
}

export function tokenCommand(): Command {
  return new Command('token')
    .description('create, list and revoke tokens of the HTTP API')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand())
}

function createCommand(): Command {
  const scope = new Option('--scope <scope>', 'what the token may do')
  return withCommonOptions(
    new Command('create')
      .description('create a token and print its secret, once')
      .argument('<name>', 'whom or what the token is for; the audit trail shows it')
      .addOption(scope.choices(['read', 'operate', 'admin']).makeOptionMandatory())
      .option('--expires <duration>', 'when the token ends, such as 30d (default: never)')
      .option('--namespace <name>', 'the namespace the token belongs to', 'default'),
  ).action(create)
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const { scope, expires, namespace } = options
  const expiresAt = expires === undefined ? undefined : endOf(expires)
  await withTokens(options, 'new', async (tokens) => {
    const isFirst = (await tokens.list()).length === 0
    const { token, ...record } = await tokens.create({
      name,
      scope,
      namespace,
      ...(expiresAt && { expiresAt }),
    })
    if (options.json) return printJson({ token, ...record })
    // Only the secret is on standard output, so that it can be sent to a file.
    print(token)
    printError(`token ${record.id} of ${plain(name)} may ${scope}${until(expiresAt)}. Its secret is not shown again.`)
    if (isFirst) printError(paint('yellow', `note: ${FIRST}`))
  })
}

function endOf(expires: string): Date {
  const ms = milliseconds(expires as Duration, '--expires')
  if (ms <= 0)
    throw new PawlError('INPUT_INVALID', `--expires is '${expires}'; expected a duration above 0, such as 30d.`)
  return new Date(systemClock.now() + ms)
}

function until(expiresAt: Date | undefined): string {
  return expiresAt ? ` until ${clockTime(expiresAt, systemClock.now())}` : ''
}

function listCommand(): Command {
  return withCommonOptions(new Command('list').description('list tokens, without their secrets')).action(list)
}

const heads = [
  { title: 'ID' },
  { title: 'NAME', least: 12 },
  { title: 'SCOPE' },
  { title: 'CREATED', optional: true },
  { title: 'STATE' },
] as const

async function list(options: CommonOptions): Promise<void> {
  await withTokens(options, 'existing', async (tokens) => {
    const items = await tokens.list()
    if (options.json) return printJson({ items })
    if (items.length === 0) return print(NONE)
    const now = systemClock.now()
    const rows = items.map(({ id, name, scope, createdAt, expiresAt, revokedAt }) => [
      ...[id, plain(name), scope, clockTime(createdAt, now)],
      stateOf(now, expiresAt, revokedAt),
    ])
    printTable(heads, rows)
  })
}

function stateOf(now: number, expiresAt: Date | undefined, revokedAt: Date | undefined): string {
  if (revokedAt) return paint('red', `revoked ${clockTime(revokedAt, now)}`)
  if (!expiresAt) return paint('green', 'valid')
  const time = clockTime(expiresAt, now)
  return expiresAt.getTime() <= now ? paint('red', `expired ${time}`) : paint('green', `valid until ${time}`)
}

function revokeCommand(): Command {
  return withCommonOptions(
    new Command('revoke').description('revoke a token').argument('<id>', 'the id of the token, from: pawl token list'),
  ).action(revoke)
}

async function revoke(id: string, options: CommonOptions): Promise<void> {
  await withTokens(options, 'existing', async (tokens) => {
    await tokens.revoke(id)
    printDone(options, { id }, `token ${id} is revoked; servers refuse it within 10 s`)
  })
}

type TokenCalls = Pick<Tokens, 'create' | 'list' | 'revoke'>

/** Uses the tokens of a server or of a store, which may be created. */
async function withTokens(
  options: CommonOptions & { readonly namespace?: string },
  store: 'new' | 'existing',
  use: (tokens: TokenCalls) => Promise<void>,
): Promise<void> {
  const { url, namespace = 'default' } = options
  if (url === undefined) {
    const open = store === 'new' ? withNewEngine : withEngine
    return open(options, 'a token', (engine) => use(new Tokens(engine.records, engine.world.clock)))
  }
  if (namespace !== 'default') {
    const message = 'a server makes tokens of the namespace of your token. Leave --namespace out.'
    throw new PawlError('INPUT_INVALID', message)
  }
  await withServer(url, options, (client) =>
    use({
      create: ({ namespace: _, ...token }) => client.call('tokens.create', token),
      list: async () => (await client.call('tokens.list', {})).items,
      revoke: (token) => client.call('tokens.revoke', { token }),
    }),
  )
}
