// A worker is killed in the middle of a run, and nothing is lost. The demo checks that itself.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { formatDuration } from '../../core/base/duration.ts'
import { shellWord } from '../../core/base/shell.ts'
import { type Told, tell } from '../demo/director.ts'
import { interrupted } from '../demo/order.ts'
import { newScreen } from '../demo/screen.ts'
import { DemoWorkers } from '../demo/workers.ts'
import { openStore } from '../options.ts'
import { columns, paint, print, showValue, table, wrap } from '../output.ts'
import { selfCommand } from '../self.ts'

export function demoCommand(): Command {
  return new Command('demo')
    .description('watch a worker being killed in the middle of a run, and nothing being lost')
    .action(demo)
}

async function demo(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-demo-'))
  const store = `sqlite:${join(folder, 'pawl.db')}`
  const ledger = join(folder, 'ledger.jsonl')
  writeFileSync(ledger, '')
  const workers = new DemoWorkers(store, ledger)
  print(paint('bold', 'An order, on a SQLite file, while its worker is killed'))
  const engine = await openStore({ store })
  const screen = newScreen()
  const leave = leaveNothing(() => {
    workers.killAll()
    screen.close()
  })
  let told: Told
  try {
    told = await tell({ engine, store, ledger, workers, screen })
  } finally {
    leave()
    await engine.close()
  }
  conclude(told, store)
}

/** Cleans up now, or when the process is told to end before. */
function leaveNothing(clean: () => void): () => void {
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

function conclude({ workflowId, result, verdict, elapsedMs }: Told, store: string): void {
  const rows = verdict.steps.map(({ name, ran, recorded, remark }) => [
    name,
    ran === 1 ? 'once' : paint('yellow', `${ran} times`),
    recorded === 1 ? paint('green', 'once') : paint('red', `${recorded} times`),
    paint('dim', remark),
  ])
  print()
  for (const line of table(heads, rows)) print(line)
  print()
  if (verdict.problems.length > 0) {
    throw new Error(`the demo failed: ${verdict.problems.join('; ')}`)
  }
  for (const text of explanation(verdict.steps)) {
    for (const line of wrap(text, columns() - 1)) print(line)
  }
  print()
  print(`result  ${showValue(result, 8)}`)
  print(`took    ${formatDuration(elapsedMs)}`)
  print(
    `look    ${paint('cyan', `${selfCommand()} run ${workflowId} --store ${shellWord(store)}`)}`,
  )
}

function explanation(steps: Told['verdict']['steps']): string[] {
  const { ran = 1 } = steps.find(({ name }) => name === interrupted) ?? {}
  const told =
    ran > 1
      ? `${interrupted} was running when its worker died. No result was recorded, so its body ran again, as attempt 2, with the same idempotency key.`
      : `${interrupted} was recorded just before its worker died, so nothing had to run again.`
  return [
    `${paint('green', 'Each result was recorded exactly once, and no recorded step ran again.')} ${told}`,
  ]
}
