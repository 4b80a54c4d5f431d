// Every verb on every store: what it prints, the code it ends with, and that it ends. The same for small programs that open a
// store, write something and close it.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until, useStore } from '../workflows/each-store.ts'
import { CommandLine, type Ended } from './command-line.ts'
import { alone, ended, failing, graph, others, type Row, retention, retentionRefused, shop, waiting } from './verbs.ts'

/** A verb takes longer than this only if it never ends. */
const LIMIT_MS = 30_000

describe.each(['sqlite', 'postgres', 'file', 'radosgw'] as const)('users D1: on %s', (kind) => {
  const bench = useStore(kind)
  let cli: CommandLine

  beforeEach(async () => {
    cli = await CommandLine.open()
    cli.environment = { PAWL_STORE: bench.url, ...bench.environment }
    await cli.define('shop.ts', shop)
    await cli.define('other.ts', `export const other = pawl.workflow('other', async () => 1)`)
    await writeFile(join(cli.folder, 'report.yaml'), graph)
  })
  afterEach(async () => {
    await cli[Symbol.asyncDispose]()
  })

  async function ends(program: Promise<Ended>, what: string): Promise<Ended> {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`${what} did not end`)), LIMIT_MS).unref()
    })
    return Promise.race([program, late])
  }

  async function each(rows: readonly Row[]): Promise<void> {
    // What is wrong with what was typed has nothing to do with the store.
    for (const [args, code, prints] of rows.filter((row) => kind === 'sqlite' || row[1] !== 2)) {
      const done = await ends(cli.pawl(...args.split(' ')), args)
      expect(done.stdout + done.stderr, args).toMatch(prints)
      expect(done.code, args).toBe(code)
    }
  }

  async function reaches(workflowId: string, status: string): Promise<void> {
    const engine = await bench.engine()
    const run = engine.get({ workflowId })
    await until(
      () => run.describe(),
      (seen) => seen.status === status,
    )
    await bench.closeEngines()
  }

  test('every verb says what it did, and ends with the right code', {
    timeout: 300_000,
  }, async () => {
    await each(alone)
    const worker = cli.begin('worker', 'shop.ts')
    await worker.prints('is working')
    await reaches('a', 'waiting')
    await each(waiting)
    await reaches('a', 'completed')
    await each(ended)
    await reaches('p', 'waiting')
    await each([['pause p --note look', 0, /will pause/]])
    await reaches('p', 'paused')
    await each([
      ['why p', 0, /^Paused by hand: look/],
      ['resume p --result 1', 2, /--step/],
      ['resume p', 0, /is resumed/],
      ['cancel p --reason enough --json', 0, /"workflowId": "p"/],
    ])
    await reaches('p', 'cancelled')
    await each(failing)
    await each([['start order 1 --workflow-id t', 0, /started/]])
    await reaches('f', 'failed')
    await each(others)
    await reaches('t', 'failed')
    const objects = kind === 'file' || kind === 'radosgw'
    await each(objects ? retentionRefused : retention)
    await each([['doctor', objects ? 0 : 1, objects ? /problem|out of date/i : /NOT_SUPPORTED/]])
    worker.kill('SIGTERM')
    expect((await ends(worker.ended, 'the worker')).code).toBe(0)
  })

  test('small programs that open, write and close end by themselves', async () => {
    const pawl = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href
    const program = join(cli.folder, 'write.ts')
    await writeFile(
      program,
      `import { open, signal, workflow } from '${pawl}'
const store = await open(process.env.PAWL_STORE)
const run = await store.start(workflow.declare('any'), undefined, { workflowId: 'small' })
await run.signal(signal('go'))
await run.cancel('enough')
await store.close()
console.log('closed', run.isNew)`,
    )
    const env = { ...process.env, ...cli.environment }
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [program], { env, timeout: LIMIT_MS })
    expect(stdout).toBe('closed true\n')
  })
})
