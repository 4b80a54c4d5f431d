// Builds with pinned runs, and the share of new runs that each of them starts.
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { nearest } from '../../core/base/nearest.ts'
import { pawlCommand } from '../../core/base/shell.ts'
import type { BuildRecord } from '../../index.ts'
import { type CommonOptions, withClient, withCommonOptions } from '../options.ts'
import { paint, plain, print, printJson, printTable } from '../output.ts'
import type { AnyClient } from '../server-option.ts'

const heads = [
  { title: 'BUILD', least: 12 },
  { title: 'NEW RUNS' },
  { title: 'IN PROGRESS', align: 'end' },
  { title: 'WORKERS', align: 'end' },
] as const

export function buildsCommand(): Command {
  return withCommonOptions(
    new Command('builds')
      .description('list builds with pinned runs, roll a build out, or retire it')
      .argument('[verb]', 'roll-out or retire; without it, builds are listed')
      .argument('[build]', 'the name of the build')
      .argument('[percent]', 'roll-out: the share of new runs it starts'),
  ).action(builds)
}

async function builds(
  verb: string | undefined,
  build: string | undefined,
  percent: string | undefined,
  options: CommonOptions,
): Promise<void> {
  await withClient(options, async (engine) => {
    if (verb !== undefined) print(await act(engine, verb, build, percent))
    else await list(engine, options)
  })
}

async function list(engine: AnyClient, { json }: CommonOptions): Promise<void> {
  const found = await engine.builds.list()
  if (json) return printJson(found)
  if (found.length === 0)
    return print(
      'No builds: no live worker pins its runs, and no build was rolled out or retired. Start a worker with --pin, or set `pin: true` in a workflow; name the build with --build.',
    )
  printTable(heads, found.map(cells))
}

function cells({ build, percent, retired, runs, workers }: BuildRecord): string[] {
  const share = percent === undefined ? 'the rest' : `${percent} %`
  return [
    plain(build),
    retired ? paint('yellow', 'retired') : share,
    String(runs),
    workers === 0 ? paint('dim', '-') : String(workers),
  ]
}

async function act(
  engine: AnyClient,
  verb: string,
  build: string | undefined,
  percent: string | undefined,
): Promise<string> {
  if (verb !== 'roll-out' && verb !== 'retire') {
    throw new PawlError('INPUT_INVALID', `unknown verb '${verb}'; expected roll-out or retire.`)
  }
  if (build === undefined)
    throw new PawlError('INPUT_INVALID', `${verb} needs the name of a build. To list builds: pawl builds`)
  if (verb === 'retire') {
    await checkKnown(engine, build)
    await engine.builds.retire(build)
    return `build '${plain(build)}' is retired: it starts no runs, and other builds continue its runs`
  }
  if (percent === undefined || percent.trim() === '') {
    throw new PawlError(
      'INPUT_INVALID',
      `roll-out needs a share of the new runs in percent: ${pawlCommand('builds', ['roll-out', build, '30'])}`,
    )
  }
  const share = Number(percent.replace(/\s*%$/, ''))
  await engine.builds.rollOut(build, share)
  return `build '${plain(build)}' starts ${share} % of the new runs; workers apply this within seconds`
}

// A build that does not exist is a typing error; retiring it would have no effect.
async function checkKnown({ builds: known }: AnyClient, build: string): Promise<void> {
  if (await known.isKnown(build)) return
  const names = (await known.list()).map((each) => each.build)
  const near = nearest(build, names)
  const hint = near === undefined ? 'To list builds: pawl builds' : `Did you mean '${plain(near)}'?`
  const message = `no live worker, no run in progress and no roll-out has a build '${plain(build)}'. ${hint}`
  throw new PawlError('RUN_NOT_FOUND', message)
}
