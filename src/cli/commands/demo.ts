// Kills a worker in the middle of a run and checks that nothing is lost.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { shellWord } from '../../core/base/shell.ts'
import { formatDuration } from '../../core/base/time.ts'
import { interrupted } from '../demo/order-workflow.ts'
import { type DemoResult, runDemo } from '../demo/run-demo.ts'
import { newScreen } from '../demo/screen.ts'
import { DemoWorkers } from '../demo/workers.ts'
import { selfCommand } from '../invocation.ts'
import { openStore } from '../options.ts'
import { columns, paint, print, printTable, showValue, wrap } from '../output.ts'
import { refuseServer, type ServerOption } from '../server-option.ts'

export function demoCommand(): Command {
  return (
    new Command('demo')
      .description('kill a worker in the middle of a run and see that nothing is lost')
      // It has a store of its own. The option says so instead of being unknown.
      .addOption(new Option('--url <url>').hideHelp())
      .action(demo)
  )
}

async function demo(options: ServerOption): Promise<void> {
  refuseServer(options, 'demo')
  const folder = mkdtempSync(join(tmpdir(), 'pawl-demo-'))
  const store = `sqlite:${join(folder, 'pawl.db')}`
  const ledger = join(folder, 'ledger.jsonl')
  writeFileSync(ledger, '')
  const workers = new DemoWorkers(store, ledger)
  print(paint('bold', 'An order, on a SQLite file, while its worker is killed'))
  const engine = await openStore({ store })
  const screen = newScreen()
  const leave = cleanUpOnExit(() => {
    workers.killAll()
    screen.close()
  })
  let result: DemoResult
  try {
    result = await runDemo({ engine, store, ledger, workers, screen })
  } finally {
    leave()
    await engine.close()
  }
  conclude(result, store)
}

/** Cleans up when the returned function is called, or on a signal that ends the process. */
function cleanUpOnExit(clean: () => void): () => void {
  const interrupt = (signal: NodeJS.Signals): void => {
    clean()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, interrupt)
  return () => {
    for (const signal of signals) process.off(signal, interrupt)
    clean()
  }
}

const heads = [
  { title: 'STEP' },
  { title: 'BODY RAN', align: 'end' },
  { title: 'RECORDED', align: 'end' },
  { title: '', least: 5 },
] as const

function conclude({ workflowId, result, check, elapsedMs }: DemoResult, store: string): void {
  const rows = check.steps.map(({ name, ran, recorded, remark }) => [
    name,
    ran === 1 ? 'once' : paint('yellow', `${ran} times`),
    recorded === 1 ? paint('green', 'once') : paint('red', `${recorded} times`),
    paint('dim', remark),
  ])
  print()
  printTable(heads, rows)
  print()
  if (check.problems.length > 0) {
    throw new Error(`the demo failed: ${check.problems.join('; ')}`)
  }
  for (const text of explanation(check.steps)) {
    for (const line of wrap(text, columns() - 1)) print(line)
  }
  print()
  print(`result  ${showValue(result, 8)}`)
  print(`took    ${formatDuration(elapsedMs)}`)
  print(`look    ${paint('cyan', `${selfCommand()} run ${workflowId} --store ${shellWord(store)}`)}`)
}

function explanation(steps: DemoResult['check']['steps']): string[] {
  const { ran = 1 } = steps.find(({ name }) => name === interrupted) ?? {}
  const interruption =
    ran > 1
      ? `${interrupted} was running when its worker died. No result was recorded, so its body ran again, as attempt 2, with the same idempotency key.`
      : `${interrupted} was recorded just before its worker died, so nothing had to run again.`
  return [`${paint('green', 'Each result was recorded exactly once, and no recorded step ran again.')} ${interruption}`]
}
