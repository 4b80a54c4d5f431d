// Operations on many runs: what would be hit is shown first, and exactly that is done.
import { Command } from 'commander'
import type { BatchPreview, BatchRecord, PreviewOptions } from '../../addons/batches/batches.ts'
import { BATCH_OPERATIONS } from '../../addons/batches/batches.ts'
import { defined } from '../../core/base/defined.ts'
import { limits } from '../../core/base/limits.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import type { RemoteClient } from '../../remote/index.ts'
import { withApi } from '../api.ts'
import { cannotAsk, isConfirmed } from '../confirm.ts'
import { type FilterOptions, filterOf, withFilterOptions } from '../filter-options.ts'
import { type CommonOptions, parseCount, parseJson, suggestedCommand, withCommonOptions } from '../options.ts'
import { counted, formatAge, paint, plain, print, printJson, printTable, type Style } from '../output.ts'
import { Progress } from '../progress.ts'

type Operation = PreviewOptions['operation']

interface Options extends CommonOptions, FilterOptions {
  readonly limit: number
  readonly reason?: string
  readonly step?: string
  readonly name?: string
  readonly payload?: unknown
  readonly to?: string
  readonly yes?: true
  readonly dryRun?: true
}

const ABOUT: Readonly<Record<Operation, string>> = {
  cancel: 'cancel many runs and their children',
  terminate: 'end many runs without running their code',
  pause: 'pause many runs after their running steps finish',
  resume: 'resume many paused runs',
  retry: 'retry many failed or cancelled runs from where they failed',
  reset: 'reset many runs to a step',
  migrate: 'move many paused runs to another version of their graph',
  signal: 'send a signal to many runs',
}

export function batchCommand(): Command {
  const command = new Command('batch').description('operate on many runs, after a preview of exactly those runs')
  for (const operation of BATCH_OPERATIONS) command.addCommand(operationCommand(operation))
  command.addCommand(withCommonOptions(new Command('list').description('list batches, newest first')).action(list))
  command.addCommand(onBatch('show', 'show a batch and how far it is', show))
  return command.addCommand(onBatch('stop', 'stop a batch after the runs it is at', stop))
}

function operationCommand(operation: Operation): Command {
  const command = withFilterOptions(new Command(operation).description(ABOUT[operation]))
    .requiredOption('--limit <count>', `the most runs, up to ${limits.batchRunsMax}`, parseCount)
    .option('--reason <text>', 'the reason, for the histories of the runs and the audit trail')
    .option('--dry-run', 'only show which runs it would be')
    .option('--yes', 'do not ask')
  if (operation === 'reset') command.requiredOption('--step <step>', 'the step to reset to')
  if (operation === 'signal') {
    command
      .requiredOption('--name <signal>', 'the name of the signal')
      .option('--payload <json>', 'its payload', parseJson)
  }
  if (operation === 'migrate') command.requiredOption('--to <hash>', 'the definition to use, by its hash')
  return withCommonOptions(command).action((options: Options) => operate(operation, options))
}

function onBatch(verb: string, about: string, act: (id: string, options: CommonOptions) => Promise<void>): Command {
  return withCommonOptions(
    new Command(verb).description(about).argument('<id>', 'the id of the batch, from: pawl batch list'),
  ).action(act)
}

async function operate(operation: Operation, options: Options): Promise<void> {
  const { limit, reason, step, name, payload, to: definitionHash } = options
  if (!options.yes && !options.dryRun && (options.json || !process.stdin.isTTY))
    throw cannotAsk(`batch ${operation} asks before it changes runs`)
  await withApi(options, async (api) => {
    const client = api(reason)
    const given = defined({ operation, limit, reason, step, name, payload, definitionHash })
    const preview = await client.batches.preview(filterOf(options), given)
    const { id, matched } = preview
    if (!options.json) showPreview(operation, preview)
    if (matched === 0 || options.dryRun) {
      await client.batches.stop(id)
      if (options.json) printJson(preview)
      return
    }
    if (!options.yes && !(await isConfirmed(matched))) {
      await client.batches.stop(id)
      return print('Nothing was done.')
    }
    await client.batches.start(id)
    await follow(client, id, options)
  })
}

function showPreview(operation: Operation, { matched, byStatus, byWorkflow, sample }: BatchPreview): void {
  if (matched === 0) return print('No run matches, so nothing is to be done.')
  print(`${paint('bold', operation)} ${counted(matched, 'run')}`)
  print(`  by status    ${countsOf(byStatus)}`)
  print(`  by workflow  ${countsOf(byWorkflow)}`)
  for (const { runId, workflowId, status } of sample.slice(0, SAMPLE_SHOWN)) {
    print(`  ${plain(workflowId === runId ? runId : workflowId)}  ${paint('dim', status)}`)
  }
  if (matched > SAMPLE_SHOWN) print(paint('dim', `  and ${matched - Math.min(SAMPLE_SHOWN, sample.length)} more`))
}

const SAMPLE_SHOWN = 5
/** Batches of more runs ask for their number. */

function countsOf(counts: Readonly<Record<string, number>>): string {
  const largest = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  return largest.map(([name, count]) => `${plain(name)} ${count}`).join(', ')
}

/** Shows the progress until the batch has ended. Leaving does not stop it. */
async function follow(client: RemoteClient, id: string, options: CommonOptions): Promise<void> {
  const { batches } = client
  const progress = new Progress()
  const isWorkedOn = (await client.workers()).some(({ alive }) => alive)
  if (!isWorkedOn) {
    if (options.json) return printJson(await batches.get(id))
    const start = suggestedCommand(options, 'pawl worker')
    return print(`Batch ${id} has started and waits for a worker: any does. Start one: ${start}`)
  }
  for (;;) {
    const batch = await batches.get(id)
    if (batch.endedAt !== undefined) {
      progress.end()
      return ended(batch, options)
    }
    progress.show(batch.done + batch.failed, batch.matched, 'runs')
    await sleep(systemClock, limits.progressMs)
  }
}

function ended(batch: BatchRecord, { json }: CommonOptions): void {
  if (batch.state !== 'done' || batch.failed > 0) process.exitCode = 1
  if (json) return printJson(batch)
  const { id, state, done, failed, matched, failures } = batch
  print(`Batch ${id} is ${paint(stateStyles[state], state)}: ${done} of ${counted(matched, 'run')} done.`)
  for (const [code, count] of countBy(failures.map((failure) => failure.code))) {
    print(`  ${count} refused with ${code}, such as ${failures.find((failure) => failure.code === code)?.runId}`)
  }
  if (failed > failures.length) print(`  ${failed - failures.length} more were refused`)
}

function countBy(keys: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}

const stateStyles: Readonly<Record<BatchRecord['state'], Style>> = {
  preview: 'cyan',
  running: 'blue',
  done: 'green',
  stopped: 'dim',
  expired: 'dim',
  failed: 'red',
}

const heads = [
  { title: 'BATCH' },
  { title: 'OPERATION' },
  { title: 'STATE' },
  { title: 'DONE', align: 'end' },
  { title: 'REFUSED', align: 'end', optional: true },
  { title: 'AGE', align: 'end', optional: true },
] as const

async function list(options: CommonOptions): Promise<void> {
  await withApi(options, async (api) => {
    const page = await api().batches.list({})
    if (options.json) return printJson(page)
    if (page.items.length === 0) return print('No batches.')
    const now = systemClock.now()
    const rows = page.items.map(({ id, operation, state, done, matched, failed, createdAt }) => [
      ...[id, operation, paint(stateStyles[state], state), `${done} of ${matched}`, String(failed)],
      formatAge(now - createdAt.getTime()),
    ])
    printTable(heads, rows)
  })
}

async function show(id: string, options: CommonOptions): Promise<void> {
  await withApi(options, async (api) => {
    const batch = await api().batches.get(id)
    if (options.json) return printJson(batch)
    const { operation, state, done, failed, matched, reason } = batch
    print(`${paint('bold', operation)} ${counted(matched, 'run')}: ${paint(stateStyles[state], state)}`)
    print(`  done     ${done}`)
    print(`  refused  ${failed}`)
    if (reason !== undefined) print(`  reason   ${plain(reason)}`)
  })
}

async function stop(id: string, options: CommonOptions): Promise<void> {
  await withApi(options, async (api) => {
    await api().batches.stop(id)
    const batch = await api().batches.get(id)
    if (options.json) return printJson(batch)
    print(`Batch ${id} stops after the runs it is at: ${batch.done} of ${counted(batch.matched, 'run')} are done.`)
  })
}
