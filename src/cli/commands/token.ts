// Tokens of the HTTP API, kept in a store: made, listed and revoked where the store is.
import { Command, Option } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Engine } from '../../index.ts'
import { Tokens } from '../../server/tokens.ts'
import { type CommonOptions, withCommonOptions, withEngine, withNewEngine } from '../options.ts'
import { clockTime, paint, plain, print, printDone, printError, printJson, printTable } from '../output.ts'

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
  await withNewEngine(options, async (engine) => {
    const { token, ...record } = await tokensOf(engine).create({
      name,
      scope,
      namespace,
      ...(expiresAt && { expiresAt }),
    })
    if (options.json) return printJson({ token, ...record })
    // Only the secret is on standard output, so that it can be sent to a file.
    print(token)
    printError(`token ${record.id} of ${plain(name)} may ${scope}${until(expiresAt)}. Its secret is not shown again.`)
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
  await withEngine(options, async (engine) => {
    const items = await tokensOf(engine).list()
    if (options.json) return printJson({ items })
    if (items.length === 0) return print('No tokens: a server on this machine needs none, and another does not start.')
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
  await withEngine(options, async (engine) => {
    await tokensOf(engine).revoke(id)
    printDone(options, { id }, `token ${id} is revoked; servers refuse it within 10 s`)
  })
}

function tokensOf(engine: Engine): Tokens {
  return new Tokens(engine.records, engine.world.clock)
}
