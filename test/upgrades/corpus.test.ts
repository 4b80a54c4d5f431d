// Histories that earlier releases recorded, replayed with the code of this one. `record.ts` makes the files.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ExportedRun, workflow } from 'pawl'
import { readHistory, replay } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { decodeTurn } from '../../src/core/kernel/codec.ts'
import { VERSION } from '../../src/stores/objects/format.ts'
import * as postgres from '../../src/stores/postgres/schema.ts'
import * as sqlite from '../../src/stores/sqlite/schema.ts'
import { code, flows } from './corpus-code.ts'

const folder = join(import.meta.dirname, 'histories')
const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))

function eventsOf({ turns }: ExportedRun): readonly string[] {
  return turns.flatMap(({ body }) => decodeTurn(body).events.map(({ type }) => type))
}

test('INV17: the page names the schemas and the format of this release', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations/upgrades.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (.+) \| (?:schema|format) (\d+) \| (.+) \|$/gm)].map(([, ...cells]) => cells)
  // Whoever changes one of them decides which releases live beside this one, and says so there.
  expect(rows).toEqual([
    ['Postgres', String(postgres.migrations.length), `releases with schema ${postgres.OLDEST_AT_WORK} and later`],
    ['SQLite', String(sqlite.migrations.length), `releases with schema ${sqlite.migrations.length}`],
    ['object storage', String(VERSION), `releases with format ${VERSION}; reads 1 to ${VERSION - 1}`],
  ])
})

test('INV17: there are histories of each release that is tested', () => {
  expect(files).toEqual(expect.arrayContaining(['0.1.0-ea9f648.jsonl', '0.1.0-35d9ee4.jsonl']))
})

describe.each(files)('INV17: %s', (file) => {
  test('is replayed with the code of today', async () => {
    const runs = await readHistory(join(folder, file))
    const statuses = new Set(runs.map(({ status }) => status))
    expect([...statuses].toSorted()).toEqual(['cancelled', 'completed', 'failed', 'paused', 'pending', 'waiting'])
    await replay([...code.workflows, ...code.activities], runs)
  })

  test('has every style, and nearly every event', async () => {
    const runs = await readHistory(join(folder, file))
    const names = new Set(runs.map(({ head }) => head.name))
    expect(names).toEqual(new Set([...Object.keys(flows), 'pawl.schedule']))
    expect([...new Set(runs.flatMap(eventsOf))].toSorted()).toEqual([
      ...['AttributesSet', 'CalledOff', 'CancelRequested', 'ChildCompleted', 'ChildFailed', 'ChildStarted'],
      ...['CompensationBegan', 'DefinitionTaken', 'GenerationBegan', 'ListTaken', 'MessageSent', 'Patched'],
      ...['PauseRequested', 'ResumeRequested', 'RunCancelled', 'RunCompleted', 'RunFailed', 'RunTriggered'],
      ...['SignalReceived', 'StateMoved', 'StepCompleted', 'StepFailed', 'StepRetried', 'StepSkipped', 'StepStarted'],
      ...['TimerFired', 'TimerStarted', 'TokenMade'],
      ...['UpdateAccepted', 'UpdateCompleted', 'UpdateFailed', 'UpdateReceived', 'WaitStarted'],
    ])
  })

  test('would tell of code that does not fit', async () => {
    const runs = (await readHistory(join(folder, file))).filter(({ head }) => head.name === 'sender')
    const other = workflow('sender', async (ctx) => {
      await ctx.run('check', () => true)
      return ctx.run('sent', () => false)
    })
    await expect(replay([other], runs)).rejects.toMatchObject({ code: 'DETERMINISM' })
  })
})
