// A worker of an older release that lives on while a newer one has brought its file up to date.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { open, workflow } from 'pawl'
import { expect, test } from 'vitest'
import { migrations } from '../../src/stores/sqlite/schema.ts'

test('stores D12: an older worker that meets a newer schema fails no run, and repeats no recorded step', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-upgrade-'))
  const file = join(folder, 'pawl.db')
  const setVersion = (version: number): void => {
    const database = new DatabaseSync(file)
    database.exec('pragma busy_timeout = 1000')
    database.exec(`pragma user_version = ${version}`)
    database.close()
  }
  const begun: string[] = []
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const flow = workflow('flow', async (ctx) => {
    await ctx.run('first', async () => void begun.push('first'))
    await ctx.run('second', async () => {
      begun.push('second')
      entered.resolve()
      await released.promise
    })
    return 'done'
  })
  const warned = Promise.withResolvers<string>()
  const logger = {
    log: (level: string, message: string) => {
      if (level === 'error' && message.includes('newer pawl')) warned.resolve(message)
    },
  }
  const engine = await open(`sqlite:${file}`, { workflows: [flow], logger })
  engine.work({ signals: false })
  const run = await engine.start(flow, undefined)
  await entered.promise
  setVersion(migrations.length + 1)
  released.resolve()
  // The turn that records the step cannot be written, and the worker says why.
  expect(await warned.promise).toContain('Upgrade pawl in this process')
  expect((await run.describe()).status).toBe('running')

  // What stands in for the newer release here knows the schema again.
  setVersion(migrations.length)
  expect(await run.result()).toBe('done')
  expect(begun.filter((step) => step === 'first')).toHaveLength(1)
  await engine.close()
  await rm(folder, { recursive: true })
})
