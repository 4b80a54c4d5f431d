// Every options object, with every option misspelt and with values of every wrong kind: refused where it is given, with the
// option that was meant. The tables of docs/options.md come from the same descriptions: `vitest -u` writes them.
import {
  activity,
  type Context,
  graph,
  machine,
  open,
  PawlError,
  type RunHandle,
  signal,
  type,
  update,
  workflow,
} from 'pawl'
import { simulate, testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { batchOptions } from '../src/client/batch.ts'
import { pageOptions, runFilter } from '../src/client/filter.ts'
import {
  editOptions,
  forkOptions,
  historyOptions,
  messageOptions,
  migrationOptions,
  resetOptions,
  resultOptions,
} from '../src/client/run-handle.ts'
import { scheduleChange, scheduleOptions } from '../src/client/schedule-options.ts'
import { startOptions } from '../src/client/start-options.ts'
import {
  activityOptions,
  childOptions,
  handlerOptions,
  mapOptions,
  retryPolicy,
  runOptions,
  scopeOptions,
  stepOptions,
  waitOptions,
  workflowOptions,
} from '../src/definitions/options.ts'
import { openOptions } from '../src/engine.ts'
import type { Description } from '../src/kernel/described.ts'
import { allSimulateOptions, simulateOptions } from '../src/testing/simulate.ts'
import { testOptions } from '../src/testing/test-engine.ts'
import { workerOptions } from '../src/worker/options.ts'

interface Given {
  readonly title: string
  readonly options: Description
  /** Hands them in; throws, or gives a promise that is rejected. */
  readonly give: (options: never) => unknown
  /** Names that an option may be taken for, because another style has them. */
  readonly besides?: readonly string[]
  /** They are part of a larger object. */
  readonly isPart?: true
}

const nothing = async (): Promise<void> => {}
const job = workflow('job', nothing)
const go = signal('go')
const post = activity('post', nothing)

/** Runs the body of a workflow that hands in the options, and throws what it failed with. */
function within(body: (ctx: Context) => Promise<unknown>): () => Promise<void> {
  return async () => {
    const engine = testEngine({
      workflows: [workflow('asks', body as never), job],
      activities: [post],
      logger: { log: () => {} },
    })
    try {
      await (await engine).execute(workflow.declare<void, void>('asks'))
    } catch (error) {
      throw new PawlError('INPUT_INVALID', (error as Error).message)
    } finally {
      await (await engine).close()
    }
  }
}

async function onEngine(use: (engine: Awaited<ReturnType<typeof open>>) => unknown): Promise<void> {
  const engine = await open('memory:', { workflows: [job] })
  try {
    await use(engine)
  } finally {
    await engine.close()
  }
}

const all: readonly Given[] = [
  { title: 'activity', options: activityOptions, give: (o) => activity('a', o, nothing) },
  { title: 'activity.declare', options: activityOptions, give: (o) => activity.declare('a', o) },
  {
    title: '`retry` of activities and steps',
    options: retryPolicy,
    give: (o) => activity('a', { retry: o }, nothing),
  },
  { title: 'workflow', options: workflowOptions, give: (o) => workflow('w', o, nothing) },
  { title: 'workflow.declare', options: workflowOptions, give: (o) => workflow.declare('w', o) },
  { title: 'graph', options: workflowOptions, give: (o) => graph('g', o) },
  {
    title: 'a step of a graph',
    options: activityOptions,
    give: (o) => graph('g').step('s', o, nothing),
  },
  {
    title: 'machine',
    isPart: true,
    options: workflowOptions,
    give: (o) =>
      machine('m', {
        input: type<void>(),
        state: type<void>(),
        activities: {},
        ...(o as object),
      } as never),
  },
  {
    title: 'ctx.run with an activity',
    options: runOptions,
    give: (o) => within((ctx) => ctx.run(post, undefined, o))(),
  },
  {
    title: 'ctx.run with a function',
    options: stepOptions,
    give: (o) => within((ctx) => ctx.run('s', o, nothing))(),
    besides: Object.keys(runOptions),
  },
  {
    title: 'ctx.child',
    options: childOptions,
    give: (o) => within((ctx) => ctx.child(job, undefined, o))(),
  },
  { title: 'ctx.wait', options: waitOptions, give: (o) => within((ctx) => ctx.wait(go, o))() },
  {
    title: 'ctx.scope',
    options: scopeOptions,
    give: (o) => within((ctx) => ctx.scope('s', o, nothing))(),
  },
  {
    title: 'ctx.map',
    options: mapOptions,
    give: (o) => within((ctx) => ctx.map([1], o, nothing))(),
  },
  {
    title: 'ctx.on',
    options: handlerOptions,
    give: (o) => within(async (ctx) => ctx.on(go as never, o, nothing as never))(),
  },
  { title: 'open', options: openOptions, give: (o) => open('memory:', o) },
  { title: 'engine.work', options: workerOptions, give: (o) => onEngine((e) => e.work(o)) },
  {
    title: 'engine.start',
    options: startOptions,
    give: (o) => onEngine((e) => e.start(job, undefined, o)),
  },
  {
    title: 'engine.startMany',
    options: startOptions,
    give: (o) => onEngine((e) => e.startMany(job, [o])),
    besides: ['input'],
  },
  { title: 'a filter of runs', options: runFilter, give: (o) => onEngine((e) => e.list(o)) },
  {
    title: 'a filter of a batch',
    options: runFilter,
    give: (o) => onEngine((e) => e.batch(o, { limit: 1 })),
  },
  { title: 'engine.batch', options: batchOptions, give: (o) => onEngine((e) => e.batch({}, o)) },
  { title: 'engine.list', options: pageOptions, give: (o) => onEngine((e) => e.list({}, o)) },
  {
    title: 'engine.schedules.set',
    options: scheduleOptions,
    give: (o) =>
      onEngine((e) =>
        e.schedules.set('s', { workflow: job, every: '1h', ...(o as object) } as never),
      ),
    isPart: true,
    besides: ['cron', 'every', 'offset', 'timeZone', 'timings', 'workflow', 'input'],
  },
  {
    title: 'schedule.update',
    options: scheduleChange,
    give: (o) => onEngine((e) => e.schedules.get('s').update(o)),
  },
  { title: 'run.result', options: resultOptions, give: (o) => onRun((run) => run.result(o)) },
  {
    title: 'run.signal',
    options: messageOptions,
    give: (o) => onRun((run) => run.signal(go, undefined, o)),
  },
  {
    title: 'run.update',
    options: { ...messageOptions, ...resultOptions },
    give: (o) => onRun((run) => run.update(update('u'), undefined, o)),
  },
  {
    title: 'run.history',
    options: historyOptions,
    give: (o) => onRun((run) => run.history(o)[Symbol.asyncIterator]().next()),
  },
  { title: 'run.resume', options: editOptions, give: (o) => onRun((run) => run.resume(o)) },
  { title: 'run.reset', options: resetOptions, give: (o) => onRun((run) => run.reset(o)) },
  { title: 'run.fork', options: forkOptions, give: (o) => onRun((run) => run.fork(o)) },
  { title: 'run.migrate', options: migrationOptions, give: (o) => onRun((run) => run.migrate(o)) },
  { title: 'testEngine', options: testOptions, give: (o) => testEngine(o) },
  {
    title: 'simulate',
    options: allSimulateOptions,
    give: (o) => simulate(o, nothing),
  },
]

function onRun(use: (run: RunHandle<void>) => unknown): Promise<void> {
  return onEngine(async (engine) => use(await engine.start(job)))
}

async function refusalOf(give: (options: never) => unknown, options: unknown): Promise<string> {
  try {
    await give(options as never)
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    expect(['INPUT_INVALID', 'DEFINITION_INVALID']).toContain((error as PawlError).code)
    return (error as Error).message
  }
  return `accepted: ${JSON.stringify(options)}`
}

/** Without a letter, with one twice, with two swapped, and in another case. */
function misspelt(name: string): string[] {
  const middle = Math.floor(name.length / 2)
  const [before, after] = [name.slice(0, middle), name.slice(middle)]
  const swapped = `${before.slice(0, -1)}${after[0]}${before.at(-1)}${after.slice(1)}`
  return [before + after.slice(1), before + name[middle] + after, swapped, name.toUpperCase()]
}

const WRONG: readonly unknown[] = [null, -1, Number.NaN, '', 'soon', Symbol('no'), [], [1], () => 1]

describe.each(all)('options of $title', ({ options, give, besides = [], isPart }) => {
  const known = [...Object.keys(options), ...besides]

  test('api D7: a misspelt option is refused, and says which was meant', async () => {
    for (const name of Object.keys(options)) {
      for (const wrong of misspelt(name).filter((each) => !known.includes(each))) {
        const refusal = await refusalOf(give, { [wrong]: 1 })
        expect(refusal).toContain(`unknown option \`${wrong}\``)
        if (wrong.length > 2) expect(refusal).toMatch(/did you mean `\w+`\?|It has `/)
      }
    }
  })

  if (!isPart)
    test('api D7: what is no object of options is refused', async () => {
      for (const wrong of [5, 'fast', null, []]) {
        const refusal = await refusalOf(give, wrong)
        expect(refusal).not.toMatch(/^accepted/)
      }
    })

  test('api D7: a value of the wrong kind is refused, with what it takes', async () => {
    for (const [name, { accepts }] of Object.entries(options)) {
      for (const wrong of WRONG) {
        let fits = false
        try {
          fits = accepts(wrong, { name, of: 'it' })
        } catch {}
        if (fits) continue
        expect(await refusalOf(give, { [name]: wrong })).toMatch(new RegExp(`\`${name}\` of `))
      }
    }
  })
})

const pages: readonly (readonly [title: string, text: string, options: Description])[] = [
  ['open', '`open(url, options)`. See [Stores](stores.md).', openOptions],
  ['work', '`engine.work(options)`. See [Workers](workers.md).', workerOptions],
  [
    'Starting a run',
    '`start`, `execute`, `startMany`, `signalWithStart`, `updateWithStart`.',
    startOptions,
  ],
  [
    'Workflows',
    '`workflow(name, options, fn)`, `graph(name, options)` and the shape of a `machine`; also `input` and `output`, which are [schemas](workflows.md#schemas).',
    workflowOptions,
  ],
  [
    'Activities',
    '`activity(name, options, fn)` and `activity.declare`; also `input` and `output`. What the call says counts before what the contract says, and that before what the registered activity says. See [Activities and retries](activities-and-retries.md).',
    activityOptions,
  ],
  ['retry', 'Of activities and steps. See [Retries](activities-and-retries.md).', retryPolicy],
  ['ctx.run with an activity', '', runOptions],
  ['ctx.run with a function', '', stepOptions],
  ['ctx.child', 'See [Workflows](workflows.md).', childOptions],
  ['ctx.wait', 'See [Signals and timers](signals-and-timers.md).', waitOptions],
  ['ctx.scope', 'See [Concurrency](parallel.md).', scopeOptions],
  ['ctx.map', 'See [Concurrency](parallel.md).', mapOptions],
  ['ctx.on', 'See [Messages](messages.md).', handlerOptions],
  [
    'Schedules',
    '`engine.schedules.set`, besides `workflow`, `input` and when it is due; `schedule.update` takes any of these, and null to remove one. See [Schedules](schedules.md).',
    scheduleOptions,
  ],
  ['Filters', '`list`, `count` and `batch`. See [Operating runs](operating-runs.md).', runFilter],
  ['result', '`run.result(options)`, and, besides `messageId`, `run.update`.', resultOptions],
  ['fork', '`run.fork(options)`. See [Operating runs](operating-runs.md).', forkOptions],
  ['testEngine', 'See [Testing](testing.md).', testOptions],
  ['simulate', 'Besides those of `testEngine`. See [Testing](testing.md).', simulateOptions],
  ['Pages', 'The second argument of `list`.', pageOptions],
  ['Batches', 'The second argument of `batch`.', batchOptions],
]

function table(options: Description): string {
  const cell = (words: string): string => words.replaceAll('|', '\\|')
  const rows = Object.entries(options).map(
    ([name, { takes, otherwise = '', about }]) =>
      `| \`${name}\` | ${cell(takes)} | ${cell(otherwise)} | ${cell(about)} |`,
  )
  return ['| option | takes | default | |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

test('docs/options.md has every option', async () => {
  const start = `# Options

Every option, by what it is given to. A misspelt option or a value that is not possible is refused where it is given
(\`INPUT_INVALID\`, of definitions \`DEFINITION_INVALID\`), with the option that was probably meant. This page is made from
the descriptions that those checks use.
`
  const sections = pages.map(([title, about, options]) =>
    [`## ${title}`, ...(about ? [about] : []), table(options)].join('\n\n'),
  )
  await expect(`${[start.trimEnd(), ...sections].join('\n\n')}\n`).toMatchFileSnapshot(
    '../docs/options.md',
  )
})

test('api D7: startMany takes a list of objects, and nothing is started otherwise', async () => {
  for (const wrong of [undefined, null, {}, [undefined], [{}, null]])
    expect(await refusalOf((runs) => onEngine((e) => e.startMany(job, runs)), wrong)).toContain(
      'startMany takes a list of objects',
    )
})
