import { Command } from 'commander'
import { type FilterOptions, filterOf, withFilterOptions } from '../filter-options.ts'
import { type StoreOption, withClient, withStoreOptions } from '../options.ts'
import { print } from '../output.ts'
import { Progress } from '../progress.ts'

interface Options extends StoreOption, FilterOptions {}

export function exportCommand(): Command {
  return withStoreOptions(
    withFilterOptions(
      new Command('export').description('export full histories as JSON Lines, to keep or to replay in a test'),
    ),
  ).action(exportRuns)
}

async function exportRuns(options: Options): Promise<void> {
  await withClient(options, async (engine) => {
    const progress = new Progress()
    // On a terminal the lines themselves show it.
    const isSeen = process.stdout.isTTY === true
    let done = 0
    for await (const line of engine.export(filterOf(options))) {
      print(line)
      if (!isSeen) progress.show(++done, undefined, 'runs exported')
    }
    progress.end()
  })
}
