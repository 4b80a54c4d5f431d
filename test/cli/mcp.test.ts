// `pawl mcp` as the official client of the protocol sees it: its tools, its answers, and what it refuses.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Engine, open, signal, workflow } from 'pawl'
import { server } from 'pawl/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const order = workflow('order', async (ctx) => ctx.wait(signal('go')))
let cli: CommandLine
let engine: Engine
const clients: Client[] = []

beforeEach(async () => {
  cli = await CommandLine.open()
  engine = await open(cli.store, { workflows: [order] })
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await engine.close()
  await cli[Symbol.asyncDispose]()
})

async function model(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  clients.push(client)
  const command = process.execPath
  await client.connect(
    new StdioClientTransport({ command, args: [cli.main, 'mcp', ...args], env, cwd: cli.folder, stderr: 'ignore' }),
  )
  return client
}

async function use(client: Client, name: string, input: Record<string, unknown>) {
  const { content, isError = false } = await client.callTool({ name, arguments: input })
  return { isError, text: content.map((part) => (part.type === 'text' ? part.text : '')).join('') }
}

async function namesOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

test('the page about MCP lists the tools, and tools that change something need --allow operate', async () => {
  const reader = await model(['--store', cli.store])
  const reads = await namesOf(reader)
  const operator = await model(['--store', cli.store, '--allow', 'operate'])
  const acts = (await namesOf(operator)).filter((name) => !reads.includes(name))
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/mcp.md'), 'utf8')
  const listed = (row: RegExp): string[] =>
    [...(row.exec(page)?.[1] ?? '').matchAll(/`(\w+)`/g)].map(([, at]) => at ?? '')
  expect(listed(/default \| (.*) \|/).toSorted()).toEqual(reads.toSorted())
  expect(listed(/also \| (.*) \|/).toSorted()).toEqual(acts.toSorted())

  await engine.start(order, undefined, { workflowId: 'a' })
  expect(await use(reader, 'runs_list', { limit: 1 })).toMatchObject({
    isError: false,
    text: expect.stringContaining(`"workflowId":"a"`),
  })
  expect(await use(reader, 'runs_cancel', { run: 'w:a', reason: 'r' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('pawl mcp --allow operate'),
  })
})

test('over HTTP a model acts with a token of its own, and its reason is in the audit trail', async () => {
  const api = server(engine)
  const { token } = await api.tokens.create({ name: 'robot', scope: 'operate', namespace: 'default' })
  const { url } = await api.listen({ port: 0 })
  const client = await model(['--url', url, '--allow', 'operate'], { PAWL_TOKEN: token })
  await engine.start(order, undefined, { workflowId: 'a' })
  const silent = await use(client, 'runs_cancel', { run: 'w:a' })
  expect(silent).toMatchObject({ isError: true, text: expect.stringContaining('reason') })
  expect(await use(client, 'runs_cancel', { run: 'w:a', reason: 'a duplicate' })).toMatchObject({ isError: false })
  const stranger = await model(['--url', url], {})
  expect(await use(stranger, 'runs_list', {})).toMatchObject({
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
