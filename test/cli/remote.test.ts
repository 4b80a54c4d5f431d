// I8, over HTTP: every verb with --url prints and ends as it does with --store.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Engine, type OpenOptions, open } from 'pawl'
import { type Server, server } from 'pawl/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../workflows/each-store.ts'
import { CommandLine, type Ended } from './command-line.ts'
import { alone, ended, failing, graph, others, type Row, retention, shop, waiting } from './verbs.ts'

/** A folder with a store, and a command line there. */
interface Place {
  readonly cli: CommandLine
  readonly engine: Engine
}

const token = 'a-token-of-the-settings'
const places: Place[] = []
const servers: Server[] = []
let local: Place
let remote: Place
let url: string

async function place(): Promise<Place> {
  const cli = await CommandLine.open()
  await cli.define('shop.ts', shop)
  await cli.define('other.ts', `export const other = pawl.workflow('other', async () => 1)`)
  await writeFile(join(cli.folder, 'report.yaml'), graph)
  const code = (await import(pathToFileURL(join(cli.folder, 'shop.ts')).href)) as Record<string, never>
  const { order, fails } = code
  const workflows = [order, fails] as unknown as NonNullable<OpenOptions['workflows']>
  const made = { cli, engine: await open(cli.store, { workflows }) }
  places.push(made)
  return made
}

beforeEach(async () => {
  local = await place()
  remote = await place()
  const api = server(remote.engine, { token })
  servers.push(api)
  url = (await api.listen({ port: 0 })).url
  local.cli.environment = { PAWL_STORE: local.cli.store }
  remote.cli.environment = { PAWL_URL: url, PAWL_TOKEN: token }
})
afterEach(async () => {
  for (const each of servers.splice(0)) await each.close()
  for (const { cli, engine } of places.splice(0)) {
    await engine.close()
    await cli[Symbol.asyncDispose]()
  }
})

/** What differs between two stores: ids, by the order in which they appear; times; where it is. */
function plain({ stdout, stderr, code }: Ended, ids: Map<string, string>): object {
  const named = (text: string): string =>
    text
      .replaceAll(url, '<place>')
      .replaceAll(local.cli.store, '<place>')
      .replaceAll(remote.cli.store, '<place>')
      .replaceAll(/--(url|store) '?<place>'?/g, '<flag>')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => {
        if (!ids.has(id)) ids.set(id, `<id ${ids.size}>`)
        return ids.get(id) ?? ''
      })
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/\d\d:\d\d:\d\d(\.\d+)?/g, '<time>')
      .replaceAll(/(\b(just )?now\b|\b\d[\d.]* ?(ms|s|min|seconds?|minutes?)( ago)?)/g, '<span>')
      .replaceAll(/worker-[0-9a-f]{12}/g, '<worker>')
      .replaceAll(/"(at|submittedAt|createdAt)": ?\d+/g, '"$1": 0')
      .replaceAll(/[ ·─━█]{2,}|·/g, ' ')
  // A server calls what a client calls options fields, and names the operation.
  const unnamed = (text: string): string => text.replaceAll(/(option|field) (`\w+`) of [^;]*? is/g, 'field $2 is')
  return { stdout: named(stdout), stderr: unnamed(named(stderr)), code }
}

const ids = { local: new Map<string, string>(), remote: new Map<string, string>() }

/** Verbs that need the store itself, and say so. */
const onlyLocal = /^(check|doctor|worker|query .*--code)/
/** Their output has the time of each event, or how long steps took: it is compared on one store, below. */
const timed = /^export/

async function each(rows: readonly Row[]): Promise<void> {
  for (const [args] of rows) {
    const words = args.split(' ')
    const [here, there] = await Promise.all([local.cli.pawl(...words), remote.cli.pawl(...words)])
    if (onlyLocal.test(args)) {
      expect(there.stderr, args).toContain('NOT_SUPPORTED')
      expect(there.code, args).toBe(1)
    } else if (timed.test(args)) expect(there.code, args).toBe(here.code)
    else expect(plain(there, ids.remote), args).toEqual(plain(here, ids.local))
  }
}

async function reach(workflowId: string, status: string): Promise<void> {
  for (const { engine } of [local, remote]) {
    await until(
      () => engine.get({ workflowId }).describe(),
      (seen) => seen.status === status,
    )
  }
}

/** Only reads: run on one store, both ways. */
const reads = [
  ...['runs', 'runs --json', 'runs --status failed --json', 'run a', 'run a --json', 'why a', 'why f --json'],
  ...['steps a', 'steps f --json', 'definitions report', 'definitions report --json', 'definitions none'],
  ...['export', 'export --workflow order', 'schedules', 'schedules --json', 'builds', 'builds --json'],
  ...['schedule describe nightly', 'schedule describe nightly --json', 'run nobody', 'why nobody --json'],
]

test('I8, I2, O4: every verb with --url prints what it prints with --store', { timeout: 300_000 }, async () => {
  await each(alone)
  for (const { engine } of [local, remote]) engine.work({ signals: false })
  await reach('a', 'waiting')
  await each(waiting)
  await reach('a', 'completed')
  await each(ended)
  await reach('p', 'waiting')
  await each([['pause p --note look', 0, /will pause/]])
  await reach('p', 'paused')
  await each([
    ['why p', 0, /^Paused by hand: look/],
    ['resume p --result 1', 2, /--step/],
    ['resume p', 0, /is resumed/],
    ['cancel p --reason enough --json', 0, /"workflowId": "p"/],
  ])
  await reach('p', 'cancelled')
  await each(failing)
  await each([['start order 1 --workflow-id t', 0, /started/]])
  await reach('f', 'failed')
  await each(others)
  await each(retention)
  await reach('t', 'failed')
  await each([
    ['builds roll-out b1 30', 0, /30 %/],
    ['builds retire b2', 1, /RUN_NOT_FOUND/],
    ['builds retire b1', 0, /is retired/],
    ['doctor', 1, /NOT_SUPPORTED/],
    ['demo --url http://x', 1, /NOT_SUPPORTED/],
  ])
  await remote.engine.schedules.set('nightly', { every: '1h', workflow: { is: 'workflow', name: 'order' } as never })
  remote.cli.environment = { PAWL_TOKEN: token }
  for (const args of reads) {
    const words = args.split(' ')
    const far = await remote.cli.pawl(...words, '--url', url)
    const near = await remote.cli.pawl(...words, '--store', remote.cli.store)
    const known = new Map<string, string>()
    expect(plain(far, known), args).toEqual(plain(near, known))
    if (args.endsWith('--json') || args.startsWith('export')) expect(far.stdout, args).toBe(near.stdout)
  }
  // The server has the code, so a query needs none here.
  expect(await remote.cli.pawl('query', 'a', 'stage', '--url', url)).toMatchObject({ code: 0, stdout: '7\n' })
})

test('I8: a server and a store together are refused; the token is no argument', { timeout: 60_000 }, async () => {
  const { cli } = remote
  const both = await cli.pawl('runs', '--url', url, '--store', cli.store)
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('both --url and --store') })
  expect(await cli.pawl('runs', '--store', cli.store)).toMatchObject({ code: 0 })
  cli.environment = { PAWL_URL: url, PAWL_STORE: cli.store }
  expect(await cli.pawl('runs')).toMatchObject({ code: 2, stderr: expect.stringContaining('both PAWL_URL and') })
  cli.environment = {}
  expect(await cli.pawl('runs', '--url', url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('UNAUTHENTICATED'),
  })
  await writeFile(join(cli.folder, 'token'), `${token}\n`)
  expect(await cli.pawl('runs', '--url', url, '--token-file', 'token')).toMatchObject({ code: 0 })
  expect(await cli.pawl('runs', '--url', url, '--token', token)).toMatchObject({ code: 2 })
  expect(await cli.pawl('runs', '--url', url, '--token-file', 'none')).toMatchObject({ code: 2 })
  expect(await cli.pawl('runs', '--token-file', 'token')).toMatchObject({ code: 2 })
  expect(await cli.pawl('runs', '--url', 'localhost')).toMatchObject({ code: 2 })
  const suggested = await cli.pawl('start', 'order', '1', '--url', url, '--token-file', 'token')
  expect(suggested.stdout).toContain(`pawl run --url ${url} `)
  const made = await cli.pawl('token', 'create', 'ada', '--scope', 'read', '--url', url, '--token-file', 'token')
  await writeFile(join(cli.folder, 'ada'), made.stdout)
  expect(await cli.pawl('runs', '--url', url, '--token-file', 'ada')).toMatchObject({ code: 0 })
  const refused = await cli.pawl('cancel', 'order-1', '--url', url, '--token-file', 'ada')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching('RUN_NOT_FOUND') })
  expect(await cli.pawl('start', 'order', '1', '--url', url, '--token-file', 'ada')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('FORBIDDEN'),
  })
  const listed = await cli.pawl('token', 'list', '--url', url, '--token-file', 'token')
  expect(listed.stdout).toContain('ada')
  const worker = await cli.pawl('worker', 'shop.ts', '--url', url)
  expect(worker).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_SUPPORTED') })
})
