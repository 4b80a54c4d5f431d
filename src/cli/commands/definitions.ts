import { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import type { StoredDefinition } from '../../index.ts'
import { type CommonOptions, suggestedCommand, withCommonOptions, withEngine } from '../options.ts'
import { plain, print, printJson, printTable, relative, showStore } from '../output.ts'

const heads = [
  { title: 'VERSION', align: 'end' },
  { title: 'HASH', least: 12 },
  { title: 'SUBMITTED' },
  { title: 'RUN BY' },
] as const

export function definitionsCommand(): Command {
  return withCommonOptions(
    new Command('definitions')
      .description('list the stored versions of a definition, newest first')
      .argument('<name>', 'the name of the workflow'),
  ).action(list)
}

async function list(name: string, options: CommonOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const versions = await engine.definitions(name)
    if (options.json) return printJson(versions)
    if (versions.length === 0) {
      const where = showStore(options.store)
      return print(
        `No definition '${plain(name)}' in ${where}. Submit one: ${suggestedCommand(options, 'pawl submit <file>')}`,
      )
    }
    const now = systemClock.now()
    printTable(
      heads,
      versions.map((each) => cells(each, now)),
    )
  })
}

function cells({ version, definitionHash, submittedAt, document }: StoredDefinition, now: number) {
  return [
    String(version),
    definitionHash,
    relative(new Date(submittedAt), now),
    document === undefined ? 'workers with its code' : 'any worker',
  ]
}
