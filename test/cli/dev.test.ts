// `pawl dev` as real processes: what happens when files change, break, move; when the code dies; when the command dies.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { open } from 'pawl'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CommandLine, type Program } from './command-line.ts'

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

const pawl = pathToFileURL(join(import.meta.dirname, '..', '..', 'src', 'index.ts')).href

function save(name: string, code: string): void {
  writeFileSync(join(cli.folder, name), `import * as pawl from '${pawl}'\n${code}`)
}

const greet = (answer: string): string => `
import { greeting } from './greeting.ts'
const hello = pawl.activity('hello', async (name) => greeting + ' ' + name)
const go = pawl.signal('go')
export const greet = pawl.workflow('greet', async (ctx, name) => {
  ctx.on(pawl.query('answer'), () => '${answer}')
  const text = await ctx.run(hello, name)
  await ctx.wait(go)
  return text + await ctx.run(hello, 'again')
})
export default [hello]
`
const greeting = (word: string): string => `export const greeting = '${word}'\n`

/** Starts `pawl dev` and resolves with the address of its API. */
async function dev(...args: string[]): Promise<{ readonly program: Program; readonly url: string }> {
  const program = cli.begin('dev', ...args, '--port', '0', '--store', cli.store)
  const url = await program.matches(/api +(http:\S+)/)
  return { program, url }
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as Record<string, unknown>
}

/** The processes with code of this `pawl dev`. */
function children(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return text.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

test('it says where it is, reloads an edited import, and answers queries with the code of now', async () => {
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('one'))
  const { program, url } = await dev()
  await program.matches(/workflows +greet\n[^]*try .*pawl start .*greet/)
  const ready = await program.matches(/ready after (\S+ ?m?s)/)
  // 0.6 s on an idle machine; tests share theirs with others.
  expect(ready).toMatch(/^(\d+ ms|\d(\.\d)? s)$/)
  await post(`${url}/runs`, { workflow: 'greet', input: 'Ada', workflowId: 'ada' })
  await cli.reaches('ada', 'waiting')
  expect(await post(`${url}/runs/w:ada/queries/answer`, {})).toEqual({ result: 'one' })
  expect(await post(`${url}/runs/w:ada/queries/other`, {})).toMatchObject({ code: 'QUERY_NOT_FOUND' })
  save('greeting.ts', greeting('hallo'))
  await program.matches(/reloaded in \d+ ms/)
  await post(`${url}/runs/w:ada/signals/go`, {})
  const engine = await open(cli.store)
  expect(await engine.get({ workflowId: 'ada' }).result()).toBe('hello Adahallo again')
  await engine.close()
  program.kill('SIGINT')
  expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
})

test('code that does not load is shown with its place, the code before goes on, and the next save tries again', async () => {
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('one'))
  const { program, url } = await dev('workflows.ts')
  await post(`${url}/runs`, { workflow: 'greet', input: 'Ada', workflowId: 'ada' })
  await cli.reaches('ada', 'waiting')
  writeFileSync(join(cli.folder, 'greeting.ts'), 'export const greeting\n= = 1\n')
  await program.complains('greeting.ts:2')
  await program.complains('The code before goes on')
  expect(await post(`${url}/runs/w:ada/queries/answer`, {})).toEqual({ result: 'one' })
  // An import of a file that is missing: the file is waited for.
  save('workflows.ts', greet('two').replace('./greeting.ts', './greetings.ts'))
  await program.complains('greetings.ts')
  renameSync(join(cli.folder, 'greeting.ts'), join(cli.folder, 'old.ts'))
  save('greetings.ts', greeting('hullo'))
  await program.matches(/reloaded in/)
  expect(await post(`${url}/runs/w:ada/queries/answer`, {})).toEqual({ result: 'two' })
})

test('a named file that does not exist yet is loaded when it is saved', async () => {
  const { program, url } = await dev('workflows.ts')
  await program.complains('there is no file workflows.ts')
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('one'))
  await program.matches(/workflows +greet/)
  await post(`${url}/runs`, { workflow: 'greet', input: 'Ada', workflowId: 'ada' })
  await cli.reaches('ada', 'waiting')
})

test('a run that new code does not fit is paused with the reason, and the next save takes it on', async () => {
  const flow = (steps: string): string => `
const step = pawl.activity('step', async (n) => n)
const go = pawl.signal('go')
export const flow = pawl.workflow('flow', async (ctx) => {
  ${steps}
  await ctx.wait(go)
  return 'done'
})
export default [step]
`
  save('workflows.ts', flow('await ctx.run(step, 1)'))
  const { program, url } = await dev()
  await post(`${url}/runs`, { workflow: 'flow', workflowId: 'run' })
  await cli.reaches('run', 'waiting')
  save('workflows.ts', flow('await ctx.run(step, 0, { key: "new" }); await ctx.run(step, 1)'))
  await program.matches(/reloaded in/)
  await post(`${url}/runs/w:run/signals/go`, {})
  await cli.reaches('run', 'paused')
  await program.matches(/a run of flow is paused: /)
  // Any edit is another build, and so is one that changes only what the workflow imports.
  save('workflows.ts', flow('await ctx.run(step, 1)'))
  await cli.reaches('run', 'completed')
})

test('a save during a step: the step ends in the old code, what follows runs in the new', async () => {
  const flow = (mark: string): string => `
import { writeFileSync, existsSync } from 'node:fs'
const slow = pawl.activity('slow', async (n, ctx) => {
  writeFileSync('began', '')
  while (!existsSync('finish')) await new Promise((resolve) => setTimeout(resolve, 20))
  return '${mark}'
})
const mark = pawl.activity('mark', async () => '${mark}')
export const flow = pawl.workflow('flow', async (ctx) => {
  const first = await ctx.run(slow)
  await ctx.sleep('10ms')
  return [first, await ctx.run(mark), ctx.info.runId !== '']
})
export default [slow, mark]
`
  save('workflows.ts', flow('old'))
  const { program, url } = await dev()
  await post(`${url}/runs`, { workflow: 'flow', workflowId: 'run' })
  await expect.poll(() => readFileSync(join(cli.folder, 'began'), 'utf8'), { timeout: 10_000 }).toBe('')
  save('workflows.ts', flow('new'))
  await program.matches(/reloaded in/)
  writeFileSync(join(cli.folder, 'finish'), '')
  await cli.reaches('run', 'completed')
  const engine = await open(cli.store)
  const handle = engine.get({ workflowId: 'run' })
  expect(await handle.result()).toEqual(['old', 'new', true])
  const slow = (await handle.steps()).find(({ step }) => step.includes('slow'))
  expect(slow?.attempts).toBe(1)
  await engine.close()
})

test('code that dies is started again', async () => {
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('one'))
  const { program, url } = await dev()
  const [child = 0] = children(program.pid)
  process.kill(child, 'SIGKILL')
  await program.complains('the process with the code ended: SIGKILL')
  await vi.waitUntil(() => children(program.pid).some((pid) => pid !== child), { timeout: 10_000 })
  await post(`${url}/runs`, { workflow: 'greet', input: 'Ada', workflowId: 'ada' })
  await cli.reaches('ada', 'waiting')
})

test('20 quick saves leave one process, little memory, and the newest code', async () => {
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('0'))
  const { program, url } = await dev()
  await post(`${url}/runs`, { workflow: 'greet', input: 'Ada', workflowId: 'ada' })
  await cli.reaches('ada', 'waiting')
  const before = residentKb(program.pid)
  for (let turn = 1; turn <= 20; turn++) {
    save('workflows.ts', greet(String(turn)))
    await new Promise((resolve) => setTimeout(resolve, 120))
  }
  const asked = async (): Promise<unknown> => (await post(`${url}/runs/w:ada/queries/answer`, {}))['result']
  await expect.poll(asked, { timeout: 15_000 }).toBe('20')
  await expect.poll(() => children(program.pid).length, { timeout: 15_000 }).toBe(1)
  expect(residentKb(program.pid) - before).toBeLessThan(40_000)
})

test('when the command is killed, no process stays behind', async () => {
  save('greeting.ts', greeting('hello'))
  save('workflows.ts', greet('one'))
  const { program } = await dev()
  await program.prints('workflows')
  const all = children(program.pid)
  expect(all).toHaveLength(1)
  program.kill('SIGKILL')
  await program.ended
  await vi.waitUntil(() => all.every((pid) => !isAlive(pid)), { timeout: 5_000 })
})

test('when the command is killed, code in a loop that never ends does not stay behind', async () => {
  save(
    'workflows.ts',
    `
import { writeFileSync } from 'node:fs'
const spin = pawl.activity('spin', async () => { writeFileSync('began', ''); for (;;) {} })
export const flow = pawl.workflow('flow', async (ctx) => ctx.run(spin))
export default [spin]
`,
  )
  const { program, url } = await dev()
  await post(`${url}/runs`, { workflow: 'flow' })
  await expect.poll(() => readFileSync(join(cli.folder, 'began'), 'utf8'), { timeout: 10_000 }).toBe('')
  const all = children(program.pid)
  expect(all).toHaveLength(1)
  program.kill('SIGKILL')
  await program.ended
  try {
    await vi.waitUntil(() => all.every((pid) => !isAlive(pid)), { timeout: 10_000 })
  } finally {
    for (const pid of all.filter(isAlive)) process.kill(pid, 'SIGKILL')
  }
})

test('a second Ctrl-C stops at once', async () => {
  save(
    'workflows.ts',
    `
import { writeFileSync } from 'node:fs'
const stuck = pawl.activity('stuck', () => { writeFileSync('began', ''); return new Promise(() => {}) })
export const flow = pawl.workflow('flow', async (ctx) => ctx.run(stuck))
export default [stuck]
`,
  )
  const { program, url } = await dev()
  await post(`${url}/runs`, { workflow: 'flow' })
  await expect.poll(() => readFileSync(join(cli.folder, 'began'), 'utf8'), { timeout: 10_000 }).toBe('')
  const all = children(program.pid)
  program.kill('SIGINT')
  await program.prints('stopping')
  program.kill('SIGINT')
  expect(await program.ended).toMatchObject({ code: 130 })
  await vi.waitUntil(() => all.every((pid) => !isAlive(pid)), { timeout: 5_000 })
})

test('without files it says what it looked for', async () => {
  const { code, stderr } = await cli.pawl('dev')
  expect(code).toBe(2)
  expect(stderr).toMatch(/no workflows\.ts, no src\/workflows\.ts and no pawl\.config\.ts/)
  save('flow.ts', 'export const flow = pawl.workflow("flow", async () => 1)')
  save('pawl.config.ts', 'export default { modules: ["./flow.ts"] }')
  const { program } = await dev()
  await program.matches(/workflows +flow/)
})

test('--demo has runs of every kind to look at, in a store of its own', async () => {
  const program = cli.begin('dev', '--demo', '--port', '0')
  const url = await program.matches(/api +(http:\S+)/)
  const statuses = async (): Promise<string[]> => {
    const { items } = (await (await fetch(`${url}/runs`)).json()) as { items: { workflowId: string; status: string }[] }
    return items.map(({ workflowId, status }) => `${workflowId} ${status}`)
  }
  const expected = ['reminder-grace paused', 'reminder-ada waiting', 'order-1000 waiting']
  await expect.poll(statuses, { timeout: 15_000 }).toEqual(expect.arrayContaining(expected))
  program.kill('SIGINT')
  expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
  expect(await readdir(cli.folder)).toEqual([])
})
