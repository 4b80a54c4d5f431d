// Graphs, sagas and builds from the command line: submitted, started, triggered, looked at, moved, kept by their build.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const report = `
name: report
parameters:
  people: { type: array, required: true }
  dry: { type: boolean, default: false }
nodes:
  - { id: start, handler: input }
  - id: greet
    handler: hello
    after: [start]
    each: "{{ input.people }}"
    with: { name: "{{ item }}" }
  - { id: rehearse, handler: hello, after: [start], when: "{{ input.dry }}", with: { name: nobody } }
  - { id: approval, wait: approval, after: [greet] }
  - { id: done, handler: output, after: [approval, greet] }
`

const code = `
export const hello = pawl.activity('hello', async ({ name }) => 'hello ' + name)
export const trip = pawl.workflow('trip', (ctx) => ctx.saga(async (saga) => {
  await saga.run('book flight', () => 'booked')
  saga.compensate((undo) => undo.run('cancel flight', () => 'cancelled'))
  await saga.run('book hotel', { retry: 'none' }, () => { throw new Error('full') })
}))
`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function does(...args: string[]): Promise<string> {
  const { code: ended, stdout, stderr } = await cli.pawl(...args)
  expect(stderr.replace(/^note: .*\n/gm, '')).toBe('')
  expect(ended).toBe(0)
  return stdout
}

async function submits(document: string): Promise<string> {
  await writeFile(join(cli.folder, 'report.yaml'), document)
  return does('submit', 'report.yaml', '--json')
}

test('D2: a graph is submitted, started pending, triggered, and its steps are shown without its code', {
  timeout: 60_000,
}, async () => {
  const first = JSON.parse(await submits(report)) as { definitionHash: string }
  expect(first).toEqual({
    name: 'report',
    version: 1,
    definitionHash: expect.stringMatching(/^[0-9a-f]+$/),
  })
  expect(await does('definitions', 'report')).toMatch(/1 +[0-9a-f]+ .* any worker\n/)
  expect(await does('definitions', 'nothing')).toMatch(/No definition 'nothing' .* pawl submit/)

  const people = '{"people": ["Ada", "Eve"]}'
  const pending = ['--pending', '--definition-version', '1', '--workflow-id', 'r1'] as const
  expect(await does('start', 'report', people, ...pending)).toMatch(/is pending.*pawl trigger r1/s)
  expect(await does('why', 'r1')).toMatch(/Waiting to be triggered\.\n +pawl trigger/)
  expect(await does('steps', 'r1')).toMatch(/has started no step yet/)

  const worker = cli.begin('worker', await cli.define('code.ts', code))
  await worker.prints('is working')
  await does('trigger', 'r1', '{"people": ["Ada", "Eve", "Bob"]}')
  await cli.reaches('r1', 'waiting')
  expect(await does('steps', 'r1')).toMatch(
    /start +step +completed +1 .*\ngreet +list +completed 3\/3 .*\nrehearse +activity +skipped.*\napproval +wait +waiting.*\ndone +step +not started/,
  )
  const shown = await does('run', 'r1')
  expect(shown).toMatch(/input +{ people: \[ 'Ada', 'Eve', 'Bob' \] }/)
  expect(shown).toMatch(/■ triggered/)
  expect(shown).toMatch(/✓ greet .* list, 3 of 3 done\n/)
  expect(shown).toMatch(/○ rehearse .* skipped\n/)
  await does('signal', 'r1', 'approval', '{"ok": true}')
  await cli.reaches('r1', 'completed')
  const steps = JSON.parse(await does('steps', 'r1', '--json')) as object[]
  expect(steps.at(-1)).toMatchObject({ step: 'done', state: 'completed', attempts: 1 })
  expect(await does('steps', 'r1', '--at', '3')).toMatch(/done +step +not started/)
  expect(await does('steps', 'r1', '--list', 'greet')).toMatch(/greet\[0\].*completed/)
})

test('D1: what is wrong with a graph is said line by line, and nothing is stored', async () => {
  const bad = report.replace('after: [greet]', 'after: [great]').replace('handler: input', 'do: x')
  await writeFile(join(cli.folder, 'bad.yaml'), bad)
  const { code: ended, stdout, stderr } = await cli.pawl('submit', 'bad.yaml')
  expect([ended, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^error: bad\.yaml has \d problems \(DEFINITION_INVALID\)\n/)
  expect(stderr).toMatch(/\n {2}nodes\[3\]\.after\[0\]: .*'great'.*\(UNKNOWN_DEPENDENCY\)\n/)
  const { stdout: json } = await cli.pawl('submit', 'bad.yaml', '--json')
  expect(JSON.parse(json)).toMatchObject({ problems: [{ code: 'MISSING_FIELD' }, {}, {}] })
  expect(await does('definitions', 'report')).toMatch(/No definition/)
  const missing = await cli.pawl('submit', 'nope.yaml')
  expect(missing).toMatchObject({
    code: 2,
    stderr: 'error: there is no file nope.yaml; expected a graph in JSON or YAML. (INPUT_INVALID)\n',
  })
})

test('N4: a run, and many at once, are moved to another definition', async () => {
  await submits(report)
  const worker = cli.begin('worker', await cli.define('code.ts', code))
  await worker.prints('is working')
  for (const id of ['r1', 'r2']) await does('start', 'report', '{"people": []}', '--workflow-id', id)
  for (const id of ['r1', 'r2']) await cli.reaches(id, 'waiting')
  const renamed = report.replace('id: approval', 'id: consent').replace('[approval,', '[consent,')
  const { definitionHash: to } = JSON.parse(await submits(renamed)) as { definitionHash: string }
  const step = ['--step', 'approval=consent'] as const
  expect(await does('migrate', 'r1', '--to', to, ...step)).toMatch(/will use definition/)
  const many = ['--workflow', 'report', '--status', 'waiting', '--limit', '5'] as const
  expect(await does('migrate', '--to', to, ...step, ...many)).toMatch(/^2 runs found, 2 will use definition/)
  for (const id of ['r1', 'r2']) await does('signal', id, 'approval')
  for (const id of ['r1', 'r2']) await cli.reaches(id, 'completed')
  expect(await does('steps', 'r1')).toMatch(/consent +wait +completed/)
  expect(await does('run', 'r1')).toMatch(/■ migrated .* to definition/)
})

test('R7: a run that undoes what it did shows where that began, and what was undone', async () => {
  const worker = cli.begin('worker', await cli.define('code.ts', code), '--handlers')
  await worker.prints('is working')
  await does('start', 'trip', '--workflow-id', 't1')
  await cli.reaches('t1', 'failed')
  const shown = await does('run', 't1')
  expect(shown).toMatch(/✗ book hotel[^]*■ compensation began[^]*✓ cancel flight .* undo\n/)
  expect(await does('steps', 't1')).toMatch(/cancel flight +undo +completed +1/)
  worker.kill('SIGTERM')
  expect((await worker.ended).stdout).toMatch(/activities +call_external_service, hello, notify/)
})

test('N8: builds are listed, rolled out and retired', async () => {
  const file = await cli.define('code.ts', code)
  const worker = cli.begin('worker', file, '--pin', '--build', 'one')
  await worker.prints('pins all runs')
  expect(await does('builds')).toMatch(/one +the rest +0 +1\n/)
  expect(await does('builds', 'roll-out', 'two', '30%')).toMatch(/'two' starts 30 %/)
  expect(await does('builds')).toMatch(/two +30 % +0 +-\n/)
  const unknown = await cli.pawl('builds', 'retire', 'tow')
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toMatch(/no live worker, .* has a build 'tow'\. Did you mean 'two'\?/)
  expect(await does('builds', 'retire', 'two')).toMatch(/is retired: it starts no runs/)
  expect(JSON.parse(await does('builds', '--json'))).toContainEqual({
    build: 'two',
    retired: true,
    runs: 0,
    workers: 0,
  })
})

test('api gap 10: pinning per workflow is shown by worker and builds; check passes over what another build keeps', async () => {
  const waits = (name: string, pin: string, steps = '') =>
    `export const ${name} = pawl.workflow('${name}', ${pin}, async (ctx) => { ${steps} await ctx.wait(pawl.signal('go')) })\n`
  const file = await cli.define('code.ts', waits('kept', '{ pin: true }') + waits('free', '{}'))
  const worker = cli.begin('worker', file, '--build', 'one')
  await worker.prints('one, pins runs of kept')
  for (const name of ['kept', 'free']) await does('start', name, '--workflow-id', name)
  for (const name of ['kept', 'free']) await cli.reaches(name, 'waiting')
  expect(await does('builds')).toMatch(/one +the rest +1 +1\n/)
  const other = waits('kept', '{}', 'await new Promise((done) => setTimeout(done, 1));')
  const mended = await cli.define('other.ts', other + waits('free', '{}'))
  const shown = await does('check', mended)
  expect(shown).toMatch(/^pinned {8}1 run of 'kept': kept\n {4}pinned to build 'one'\..* is not compatible/m)
  expect(shown).toMatch(/1 compatible, 0 incompatible, 0 without code .*, 1 pinned to other builds/)
  await does('builds', 'retire', 'one')
  expect(await cli.pawl('check', mended)).toMatchObject({ code: 1 })
})

const refused = [
  [['builds', 'roll-out', 'one'], /needs a share of the new runs in percent/],
  [['builds', 'roll-out', 'one', 'many'], /percent is NaN/],
  [['builds', 'promote', 'one'], /unknown verb 'promote'; expected roll-out or retire/],
  [['resolve', 't', '1', '--reject', 'no'], /both a result and --reject are given/],
  [['migrate', '--to', 'x'], /no run is given/],
  [['migrate', '--to', 'x', '--workflow', 'report'], /--limit/],
  [['migrate', 'r1', '--to', 'x', '--step', 'a'], /<old>=<new>/],
  [['migrate', 'r1', '--to', 'x', '--step', 'a=b', '--skip', 'a'], /'a' is named twice/],
  [['trigger', 'nobody'], /no run with workflow id 'nobody'/],
  [['worker'], /Name a file .* or use --handlers/],
] as const

test('what is wrong is said in one line', { timeout: 60_000 }, async () => {
  await does('start', 'report')
  for (const [args, says] of refused) {
    const { code: ended, stdout, stderr } = await cli.pawl(...args)
    expect([ended, stdout]).toEqual([args[0] === 'trigger' ? 1 : 2, ''])
    expect(stderr).toMatch(says)
    expect(stderr).toMatch(/^error: .* \([A-Z_]+\)\n$/)
  }
})
