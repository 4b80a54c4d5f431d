// `pawl mcp` as a process, used by the official client: what it offers, what it refuses, and what a model sees of users.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Engine, open, workflow } from 'pawl'
import { server } from 'pawl/server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { routes } from '../../src/operations/routes.ts'
import { CommandLine } from './command-line.ts'

const tokens: string[] = []
const hooked = workflow('hooked', async (ctx) => {
  const hook = ctx.webhook('paid')
  tokens.push(hook.token)
  return ctx.wait(hook)
})
const echo = workflow('echo', async (_, input: unknown) => input)
const quiet = { log: (): void => {} }

let cli: CommandLine
let engine: Engine
const clients: Client[] = []

beforeEach(async () => {
  cli = await CommandLine.open()
  engine = await open(cli.store, { workflows: [hooked, echo], logger: quiet })
  engine.work({ signals: false })
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await engine.close()
  await cli[Symbol.asyncDispose]()
})

async function tools(...args: string[]): Promise<Client> {
  return toolsWith({}, args)
}

async function toolsWith(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  clients.push(client)
  const command = [cli.main, 'mcp', ...args]
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: command,
      env: { ...env },
      cwd: cli.folder,
      stderr: 'ignore',
    }),
  )
  return client
}

async function use(client: Client, name: string, input: object = {}): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await client.callTool({ name, arguments: { ...input } })
  const [first] = content as readonly { readonly text: string }[]
  return { text: first?.text ?? '', isError: isError === true }
}

test('it offers what reads; what changes something only if allowed; what administers never', async () => {
  const [reading, acting] = [await tools('--store', cli.store), await tools('--store', cli.store, '--allow', 'operate')]
  const offered = async (client: Client) => new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]))
  const [reads, acts] = [await offered(reading), await offered(acting)]
  for (const [name, route] of Object.entries(routes)) {
    const tool = name.replace('.', '_')
    const kind = 'tool' in route ? route.tool : 'none'
    expect([reads.has(tool), acts.has(tool)], name).toEqual([kind === 'read', kind !== 'none'])
    if (route.scope === 'admin') expect(kind, name).toBe('none')
    // A client may repeat such a call as it likes.
    const isIdempotent = acts.get(tool)?.annotations?.idempotentHint
    if (kind !== 'none') expect(isIdempotent, name).toBe(kind === 'read')
  }
  const start = { workflow: 'echo', input: 1, reason: 'a test' }
  expect(await use(reading, 'runs_start', start)).toMatchObject({
    isError: true,
    text: expect.stringMatching(/FORBIDDEN/),
  })
  expect(await use(acting, 'runs_start', { ...start, reason: ' ' })).toMatchObject({ isError: true })
  for (const name of ['tokens_create', 'batches_preview', 'runs_export', '__proto__', 'constructor', 'x\u001b[31m']) {
    const { isError, text } = await use(acting, name, { reason: 'a test' })
    expect([isError, text.includes('\u001b')], name).toEqual([true, false])
  }
  expect(await engine.count()).toBe(0)
  expect(await use(acting, 'runs_start', start)).toMatchObject({ isError: false })
  expect(await engine.count()).toBe(1)
})

test('over a server it can do no more than its token', async () => {
  const api = server(engine, { logger: quiet })
  const { token } = await api.tokens.create({ name: 'reader', scope: 'read', namespace: 'default' })
  const { url } = await api.listen({ port: 0 })
  const file = join(cli.folder, 'token')
  writeFileSync(file, token)
  const client = await tools('--url', url, '--token-file', file, '--allow', 'operate')
  expect(await use(client, 'runs_list')).toEqual({ text: '{"items":[]}', isError: false })
  const refused = await use(client, 'runs_start', { workflow: 'echo', input: 1, reason: 'a test' })
  expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/scope 'operate'.*\(FORBIDDEN\)/) })
  await api.close()
})

test('the page about MCP lists the tools', async () => {
  const [reading, acting] = [await tools('--store', cli.store), await tools('--store', cli.store, '--allow', 'operate')]
  const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
  const reads = await namesOf(reading)
  const acts = (await namesOf(acting)).filter((name) => !reads.includes(name))
  const page = readFileSync(join(import.meta.dirname, '../../docs/guides/mcp.md'), 'utf8')
  const listed = (row: RegExp): string[] =>
    [...(row.exec(page)?.[1] ?? '').matchAll(/`(\w+)`/g)].map(([, at]) => at ?? '')
  expect(listed(/default \| (.*) \|/).toSorted()).toEqual(reads.toSorted())
  expect(listed(/also \| (.*) \|/).toSorted()).toEqual(acts.toSorted())
  expect(await use(reading, 'runs_cancel', { run: 'w:a', reason: 'r' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('pawl mcp --allow operate'),
  })
})

test('over HTTP a model acts with a token of its own, and its reason is in the audit trail', async () => {
  const api = server(engine, { logger: quiet })
  const { token } = await api.tokens.create({ name: 'robot', scope: 'operate', namespace: 'default' })
  const { url } = await api.listen({ port: 0 })
  const client = await toolsWith({ PAWL_TOKEN: token }, ['--url', url, '--allow', 'operate'])
  await engine.start(hooked, undefined, { workflowId: 'a' })
  const silent = await use(client, 'runs_cancel', { run: 'w:a' })
  expect(silent).toMatchObject({ isError: true, text: expect.stringContaining('reason') })
  expect(await use(client, 'runs_cancel', { run: 'w:a', reason: 'a duplicate' })).toMatchObject({ isError: false })
  expect(await use(await tools('--url', url), 'runs_list')).toMatchObject({
    isError: true,
    text: expect.stringContaining('UNAUTHENTICATED'),
  })
  await api.close()
  const audit = server(engine, { open: true })
  const entries = await audit.fetch(new Request('http://localhost/api/v1/audit'))
  expect(await entries.json()).toMatchObject({
    items: [{ operation: 'runs.cancel', by: 'robot', reason: 'a duplicate' }],
  })
  await audit.close()
})

test('what users wrote is data: cut when it is long, without the tokens of webhooks, and in one answer', async () => {
  const client = await tools('--store', cli.store)
  const evil = { __proto__x: 1, text: '\u0000"}]}\n{"jsonrpc":"2.0","method":"exit"}\n', long: 'x'.repeat(50_000) }
  const said = await engine.start(echo, evil)
  await said.result()
  const shown = await use(client, 'runs_get', { run: said.runId })
  expect(shown.isError).toBe(false)
  expect(shown.text.length).toBeLessThan(40_000)
  expect(JSON.parse(shown.text)).toMatchObject({
    runId: said.runId,
    input: expect.stringMatching(/cut: \d+ characters/),
  })
  const run = await engine.start(hooked)
  await vi.waitFor(async () => expect(await run.why()).toMatchObject({ reason: 'webhook' }))
  for (const name of ['runs_history', 'runs_steps', 'runs_why', 'runs_get']) {
    const { text, isError } = await use(client, name, { run: run.runId })
    expect(isError, text).toBe(false)
    expect(text, name).not.toContain(tokens.at(-1))
  }
  // The connection still works.
  expect(await use(client, 'runs_count')).toEqual({ text: '{"count":2}', isError: false })
})
