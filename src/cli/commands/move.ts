// Moves whole runs from one store to another.
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import type { Duration } from '../../core/base/time.ts'
import { type MoveReport, moveRuns } from '../../index.ts'
import { type FilterOptions, filterOf, isNarrowed, withFilterOptions } from '../filter-options.ts'
import { refuseMissing } from '../options.ts'
import { counted, plain, print, printJson } from '../output.ts'
import { Progress } from '../progress.ts'

interface Options extends FilterOptions {
  readonly from: string
  readonly to: string
  readonly dryRun?: true
  readonly abort?: true
  readonly patience: Duration
  readonly json?: true
}

export function moveCommand(): Command {
  return withFilterOptions(
    new Command('move')
      .description('move whole runs to another store, where they go on; repeat it if it was interrupted')
      .requiredOption('--from <url>', 'the URL of the store that has the runs')
      .requiredOption('--to <url>', 'the URL of the store in which they go on')
      .option('--dry-run', 'only count the runs')
      .option('--abort', 'end an interrupted move: runs that have not left go on where they are')
      .option('--patience <duration>', 'how long to wait for a worker that holds a run', '1m')
      .option('--json', 'print only JSON'),
  ).action(move)
}

async function move(options: Options): Promise<void> {
  const { from, to, dryRun = false, abort = false, patience, json } = options
  if (dryRun && abort) throw new PawlError('INPUT_INVALID', 'both --dry-run and --abort are given. Give one of them.')
  refuseMissing(from, '--from')
  const progress = new Progress()
  const report = await moveRuns({
    ...{ from, to, dryRun, abort, patience },
    ...(isNarrowed(options) && { runs: filterOf(options) }),
    onProgress: (moved) => progress.show(moved, undefined, abort ? 'runs released' : 'runs moved'),
  })
  progress.end()
  if (json) printJson(report)
  else tell(report, options)
  if (report.refused.length > 0) process.exitCode = 1
}

function tell(report: MoveReport, { abort }: Options): void {
  const { found, held = 0, moved, definitions, refused } = report
  const [from, to, codecs] = [plain(report.from), plain(report.to), plain(report.codecs.join(', '))]
  if (found !== undefined) {
    print(`${counted(found, 'run')} would move from ${from} to ${to}; workers hold ${held} of them`)
    return
  }
  print(abort ? `${counted(moved, 'run')} released in ${from}` : `${counted(moved, 'run')} moved from ${from} to ${to}`)
  if (definitions > 0) print(`${counted(definitions, 'record')} of definitions and builds copied`)
  if (codecs !== '') print(`bodies are encoded with ${codecs}: open ${to} with the same codecs and keys`)
  for (const { runId, reason, message } of refused) print(`${runId} stays (${reason}): ${plain(message)}`)
}
