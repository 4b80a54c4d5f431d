// Builds that keep the runs they began, and how new runs are shared among them.

import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { nearest } from '../../core/base/nearest.ts'
import { pawlCommand } from '../../core/base/shell.ts'
import type { BuildRecord, Engine } from '../../index.ts'
import { type ReadingOptions, reading, withEngine } from '../options.ts'
import { paint, plain, print, printJson, table } from '../output.ts'

const heads = [
  { title: 'BUILD', least: 12 },
  { title: 'NEW RUNS' },
  { title: 'UNDER WAY', align: 'end' },
  { title: 'WORKERS', align: 'end' },
] as const

export function buildsCommand(): Command {
  return reading(
    new Command('builds')
      .description('list builds that keep their runs; roll one out, or retire it')
      .argument('[verb]', 'roll-out or retire; lists them when left out')
      .argument('[build]', 'the name of the build')
      .argument('[percent]', 'of roll-out: how many of the new runs it begins'),
  ).action(builds)
}

async function builds(
  verb: string | undefined,
  build: string | undefined,
  percent: string | undefined,
  options: ReadingOptions,
): Promise<void> {
  await withEngine(options, async (engine) => {
    if (verb !== undefined) print(await act(engine, verb, build, percent))
    else await list(engine, options)
  })
}

async function list(engine: Engine, { json }: ReadingOptions): Promise<void> {
  const found = await engine.builds.list()
  if (json) return printJson(found)
  if (found.length === 0)
    return print(
      'No living worker keeps its runs, and no build was rolled out or retired. Start a worker with --pin, or give a workflow `pin: true`; name the build with --build.',
    )
  for (const line of table(heads, found.map(cells))) print(line)
}

function cells({ build, percent, retired, runs, workers }: BuildRecord): string[] {
  const share = percent === undefined ? 'what is left' : `${percent} %`
  return [
    plain(build),
    retired ? paint('yellow', 'retired') : share,
    String(runs),
    workers === 0 ? paint('dim', '-') : String(workers),
  ]
}

async function act(
  engine: Engine,
  verb: string,
  build: string | undefined,
  percent: string | undefined,
): Promise<string> {
  if (verb !== 'roll-out' && verb !== 'retire') {
    throw new PawlError('INPUT_INVALID', `'${verb}' is not roll-out or retire.`)
  }
  if (build === undefined)
    throw new PawlError('INPUT_INVALID', `${verb} which build? See pawl builds.`)
  if (verb === 'retire') {
    await checkKnown(engine, build)
    await engine.builds.retire(build)
    return `build '${plain(build)}' begins nothing more; others go on with its runs`
  }
  if (percent === undefined || percent.trim() === '') {
    throw new PawlError(
      'INPUT_INVALID',
      `how many of the new runs? ${pawlCommand('builds', ['roll-out', build, '30'])}`,
    )
  }
  const share = Number(percent.replace(/\s*%$/, ''))
  await engine.builds.rollOut(build, share)
  return `build '${plain(build)}' begins ${share} % of the new runs; workers hear of it within seconds`
}

// What nobody knows is a slip of the pen: nothing would come of it.
async function checkKnown({ builds: known }: Engine, build: string): Promise<void> {
  if (await known.isKnown(build)) return
  const names = (await known.list()).map((each) => each.build)
  const near = nearest(build, names)
  const meant = near === undefined ? 'See pawl builds.' : `Did you mean '${plain(near)}'?`
  const message = `no living worker, no run in progress and no roll-out has a build '${plain(build)}'. ${meant}`
  throw new PawlError('RUN_NOT_FOUND', message)
}
