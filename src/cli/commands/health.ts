import { Command } from 'commander'
import { withApi } from '../api.ts'
import { type CommonOptions, showPlace, suggestedCommand, withCommonOptions } from '../options.ts'
import { counted, paint, print, printJson } from '../output.ts'

export function healthCommand(): Command {
  return withCommonOptions(
    new Command('health').description('show whether the store answers, how many workers live, and runs in progress'),
  ).action(health)
}

async function health(options: CommonOptions): Promise<void> {
  await withApi(options, async (api) => {
    const found = await api().health()
    const { status, store, workers, runs, version } = found
    const isHealthy = status === 'healthy'
    if (!isHealthy) process.exitCode = 1
    if (options.json) return printJson(found)
    const paused = runs.paused > 0 ? `, ${paint('magenta', `${runs.paused} paused`)}` : ''
    print(`${paint(isHealthy ? 'green' : 'red', status)}  ${showPlace(options)}`)
    print(`  store    ${store}, pawl ${version}`)
    print(`  workers  ${workers.alive} alive of ${workers.all}`)
    print(`  runs     ${counted(runs.live, 'run')} in progress${paused}`)
    if (!isHealthy)
      print(`Runs are in progress and no worker is alive: ${suggestedCommand(options, 'pawl worker <file>')}`)
  })
}
