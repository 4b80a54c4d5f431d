// Every options object, with every option misspelt and with values of every wrong kind: refused where it is given, with the
// option that was meant. The tables of docs/reference/options.md come from the same descriptions: `vitest -u` writes them.
import * as pawl from 'pawl'
import { type Context, PawlError } from 'pawl'
import * as codecs from 'pawl/codecs'
import * as builtIn from 'pawl/handlers'
import * as tracing from 'pawl/otel'
import * as servers from 'pawl/server'
import * as testing from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { batchOptions } from '../src/addons/batches/batch-options.ts'
import { compressOptions } from '../src/addons/codecs/compress.ts'
import { encryptOptions } from '../src/addons/codecs/encrypt.ts'
import { offloadOptions } from '../src/addons/codecs/offload.ts'
import { callInput, httpOptions } from '../src/addons/handlers/call-external-service.ts'
import { guardOptions } from '../src/addons/handlers/guard.ts'
import { llmInput, llmOptions } from '../src/addons/handlers/llm-service.ts'
import { emailInput, emailOptions } from '../src/addons/handlers/notify-email.ts'
import { webhookInput, webhookOptions } from '../src/addons/handlers/notify-webhook.ts'
import { commonOptions } from '../src/addons/handlers/options.ts'
import { smtpServer } from '../src/addons/handlers/smtp.ts'
import { verifyOptions } from '../src/addons/handlers/webhook-signature.ts'
import { purgeOptions, retentionPolicy } from '../src/addons/retention/options.ts'
import { scheduleOptions } from '../src/addons/schedules/options.ts'
import type { Description } from '../src/core/base/described.ts'
import { pageOptions, runFilter } from '../src/core/client/filter.ts'
import { forkOptions, resultOptions } from '../src/core/client/run-handle.ts'
import { startOptions } from '../src/core/client/start-options.ts'
import { streamOptions } from '../src/core/client/streams.ts'
import { graphOptions } from '../src/core/definitions/graph.ts'
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
} from '../src/core/definitions/options.ts'
import { jsonLoggerOptions } from '../src/core/runtime/json-logger.ts'
import { workerOptions } from '../src/core/worker/options.ts'
import { writeOptions } from '../src/core/worker/step-streams.ts'
import { openOptions } from '../src/engine.ts'
import { moveOptions } from '../src/moving.ts'
import { otelOptions } from '../src/otel/options.ts'
import { closeOptions, listenOptions, serverOptions } from '../src/server/options.ts'
import { simulateOptions } from '../src/testing/simulate.ts'
import { testOptions } from '../src/testing/test-engine.ts'
import { untilIdleOptions } from '../src/until-idle.ts'
import { misspelt } from './support/misspelt.ts'
import { calls, job, onEngine } from './support/option-calls.ts'

const CODES = ['INPUT_INVALID', 'DEFINITION_INVALID', 'RUN_ID_INVALID']

async function refusalOf(give: (options: never) => unknown, options: unknown): Promise<string> {
  try {
    await give(options as never)
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    expect(CODES).toContain((error as PawlError).code)
    return (error as Error).message
  }
  return `accepted: ${JSON.stringify(options)}`
}

const WRONG: readonly unknown[] = [null, -1, Number.NaN, '', 'soon', Symbol('no'), [], [1], () => 1]

describe.each(calls)('options of $title', ({ options, give, besides = [], isPart }) => {
  const known = [...Object.keys(options), ...besides]

  test('api D7: a misspelt option is refused, and says which was meant', async () => {
    for (const name of Object.keys(options)) {
      for (const wrong of misspelt(name).filter((each) => !known.includes(each))) {
        const refusal = await refusalOf(give, { [wrong]: 1 })
        expect(refusal).toMatch(new RegExp(`unknown (option|field) \`${wrong}\``))
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
        expect(await refusalOf(give, { [name]: wrong })).toMatch(new RegExp(`\`${name}(\\.0)?\` of `))
      }
    }
  })
})

/** Exported functions that take no options. */
const WITHOUT = new Set([
  'metrics',
  'pawlIdGenerator',
  // `pawl serve` checks the settings.
  'defineConfig',
  ...['diagram', 'diagramOf', 'query', 'signal', 'stream', 'update', 'typed'],
  ...['runCase', 'crashAtEveryAwait', 'readHistory', 'replay', 'eventsOf'],
  // What pawl's own simulation is made of.
  ...Object.keys(testing).filter((name) => /^(check|shared)[A-Z]/.test(name)),
])

test('every exported function that takes options is fuzzed', () => {
  const exported = Object.entries({ ...pawl, ...codecs, ...builtIn, ...servers, ...tracing, ...testing })
  const functions = exported.filter(([, value]) => typeof value === 'function' && !String(value).startsWith('class'))
  const fuzzed = new Set(calls.map(({ title }) => title))
  const forgotten = functions.map(([name]) => name).filter((name) => !WITHOUT.has(name))
  expect(forgotten.filter((name) => !fuzzed.has(name))).toEqual([])
})

/** Without those of all handlers. */
function own(options: Description): Description {
  const common = { ...commonOptions, ...guardOptions }
  return Object.fromEntries(Object.entries(options).filter(([name]) => !(name in common)))
}

const pages: readonly (readonly [title: string, text: string, options: Description])[] = [
  ['open', '`open(url, options)`. See [Stores](../operations/stores.md).', openOptions],
  ['work', '`engine.work(options)`. See [Workers](../operations/workers.md).', workerOptions],
  [
    'workUntilIdle',
    '`engine.workUntilIdle(options)`. See [Serverless functions](../guides/serverless.md).',
    untilIdleOptions,
  ],
  ['Starting a run', '`start`, `execute`, `startMany`, `signalWithStart`, `updateWithStart`.', startOptions],
  [
    'Workflows',
    [
      '`workflow(name, options, fn)`, `graph(name, options)` and the shape of a `machine`. They also take `input` and',
      '`output`, which are [schemas](../guides/workflows.md#schemas).',
    ].join('\n'),
    workflowOptions,
  ],
  [
    'Activities',
    [
      '`activity(name, options, fn)` and `activity.declare`; they also take `input` and `output`. Options of the call',
      'override those of the contract, which override those of the registered activity. See',
      '[Activities and retries](../guides/activities.md).',
    ].join('\n'),
    activityOptions,
  ],
  ['retry', 'Of activities and steps. See [Retries](../guides/activities.md).', retryPolicy],
  [
    'Steps of graphs',
    '`step` and `run` of a [graph](../guides/graphs.md); without `queue` and below, also of `wait`.',
    graphOptions.step,
  ],
  ['ctx.run with an activity', '', runOptions],
  ['ctx.run with a function', '', stepOptions],
  ['ctx.child', 'See [Workflows](../guides/workflows.md).', childOptions],
  ['ctx.wait', 'See [Signals and timers](../guides/signals-and-timers.md).', waitOptions],
  ['ctx.scope', 'See [Concurrency](../guides/concurrency.md).', scopeOptions],
  ['ctx.map', 'See [Concurrency](../guides/concurrency.md).', mapOptions],
  ['ctx.on', 'See [Messages](../guides/messages.md).', handlerOptions],
  [
    'Schedules',
    [
      '`engine.schedules.set`, besides `workflow`, `input` and the timing. `schedule.update` takes any of them; `null`',
      'removes an option, except `paused` and `run`. See [Schedules](../guides/schedules.md).',
    ].join('\n'),
    scheduleOptions,
  ],
  ['Filters', '`list`, `count` and `batch`. See [Operating runs](../operations/operating-runs.md).', runFilter],
  ['result', '`run.result(options)`, and, besides `messageId`, `run.update`.', resultOptions],
  ['run.stream', 'See [Streams](../guides/streams.md).', streamOptions],
  ['ctx.stream', 'In a step. See [Streams](../guides/streams.md).', writeOptions],
  ['moveRuns', '`moveRuns(options)`. See [Moving runs](../operations/moving.md).', moveOptions],
  ['fork', '`run.fork(options)`. See [Operating runs](../operations/operating-runs.md).', forkOptions],
  ['testEngine', 'See [Testing](../guides/testing.md).', testOptions],
  ['simulate', 'Besides those of `testEngine`. See [Testing](../guides/testing.md).', simulateOptions],
  ['Pages', 'The second argument of `list`.', pageOptions],
  ['Batches', 'The second argument of `batch`.', batchOptions],
  [
    'Retention',
    'The policy of `engine.retention.set` and `purge`. See [Retention](../operations/retention.md).',
    retentionPolicy,
  ],
  ['A purge', 'The second argument of `engine.retention.purge`.', purgeOptions],
  ['compress', 'See [Payloads](../guides/payloads.md).', compressOptions],
  ['encrypt', 'See [Payloads](../guides/payloads.md).', encryptOptions],
  ['offload', 'See [Payloads](../guides/payloads.md).', offloadOptions],
  [
    'All handlers',
    [
      'See [Handlers](../guides/handlers.md). `notifyEmail` takes no `hosts`, `allowPrivate` or `lookup`, and',
      '`llmService` no `hosts`.',
    ].join('\n'),
    { ...commonOptions, ...guardOptions },
  ],
  ['callExternalService', '', own(httpOptions)],
  ['The input of call_external_service', '', callInput],
  ['llmService', '', own(llmOptions)],
  ['The input of llm_service', '', llmInput],
  ['notifyWebhook', '', own(webhookOptions)],
  ['The input of notify.webhook.v1', '', webhookInput],
  ['notifyEmail', '', own(emailOptions)],
  ['smtp of notifyEmail', '', smtpServer],
  ['The input of notify.email.v1', '', emailInput],
  ['verifyWebhook', '', verifyOptions],
  ['otel', '`otel(options)`. See [Telemetry](../operations/telemetry.md#traces).', otelOptions],
  ['jsonLogger', '`jsonLogger(options)`.', jsonLoggerOptions],
  ['server', '`server(engine, options)`. See [HTTP server](../guides/http-server.md).', serverOptions],
  ['listen', '`server(engine).listen(options)`.', listenOptions],
  ['close of a server', '`server(engine).close(options)`.', closeOptions],
]

function table(options: Description): string {
  const cell = (words: string): string => words.replaceAll('|', '\\|')
  const rows = Object.entries(options).map(
    ([name, { takes, otherwise = '', about }]) =>
      `| \`${name}\` | ${cell(takes)} | ${cell(otherwise)} | ${cell(about)} |`,
  )
  return ['| option | takes | default | |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

test('docs/reference/options.md has every option', async () => {
  const start = `# Options

Every option, by what it is given to. A misspelt option or a value that is not possible is refused where it is given
(\`INPUT_INVALID\`, of definitions \`DEFINITION_INVALID\`), with the option that was probably meant. This page is made from
the descriptions that those checks use.
`
  const sections = pages.map(([title, about, options]) =>
    [`## ${title}`, ...(about ? [about] : []), table(options)].join('\n\n'),
  )
  await expect(`${[start.trimEnd(), ...sections].join('\n\n')}\n`).toMatchFileSnapshot('../docs/reference/options.md')
})

describe('api D7: a misspelt option in workflow code', () => {
  const inCode: readonly [string, (ctx: Context) => unknown, string][] = [
    ['ctx.run', (ctx) => ctx.run(pay, undefined, { retri: 'none' } as never), 'retry'],
    ['ctx.run inline', (ctx) => ctx.run('s', { tartToClose: 1 } as never, async () => {}), 'startToClose'],
    ['ctx.child', (ctx) => ctx.child(job, undefined, { queu: 'a' } as never), 'queue'],
    ['ctx.sleep', (ctx) => ctx.sleep('1s', { kye: 'a' } as never), 'key'],
    ['ctx.wait', (ctx) => ctx.wait(pawl.signal('go'), { timout: '1s' } as never), 'timeout'],
    ['ctx.map', (ctx) => ctx.map([1], { concurency: 1 } as never, async () => 1), 'concurrency'],
    ['ctx.scope', (ctx) => ctx.scope('s', { timeot: '1s' } as never, async () => 1), 'timeout'],
  ]
  let paid = 0
  const pay = pawl.activity('pay', async () => {
    paid++
  })

  // As any other mistake in the code of a workflow that throws.
  test.each(inCode)('%s fails the run at once, is logged, and runs nothing', async (_, ask, meant) => {
    const lines: string[] = []
    const asks = pawl.workflow('asks', async (ctx) => {
      await ask(ctx)
    })
    await using engine = await testing.testEngine({
      workflows: [asks, job],
      activities: [pay],
      logger: { log: (level, line) => lines.push(`${level} ${line}`) },
    })
    const run = await engine.start(asks)
    await expect(run.result()).rejects.toMatchObject({
      failure: {
        code: 'INPUT_INVALID',
        message: expect.stringContaining(`did you mean \`${meant}\`?`),
      },
    })
    expect(await run.describe()).toMatchObject({ status: 'failed' })
    expect(paid).toBe(0)
    expect(lines.filter((line) => /^warn .*unknown option .*did you mean/s.test(line))).toHaveLength(1)
  })

  test('one that the code catches is like any error: the run goes on, and again the same way', async () => {
    const asks = pawl.workflow('asks', async (ctx) => {
      await ctx.sleep('1s')
      let code = ''
      try {
        await ctx.wait(pawl.signal('go'), { timout: '1s' } as never)
      } catch (error) {
        code = (error as PawlError).code
      }
      await ctx.run(pay)
      return code
    })
    await using engine = await testing.testEngine({ workflows: [asks], activities: [pay] })
    expect(await engine.execute(asks)).toBe('INPUT_INVALID')
    expect(paid).toBe(1)
  })
})

test('api D7: startMany takes a list of objects, and nothing is started otherwise', async () => {
  for (const wrong of [undefined, null, {}, [undefined], [{}, null]])
    expect(await refusalOf((runs) => onEngine((e) => e.startMany(job, runs)), wrong)).toContain(
      'the runs of startMany are not a list of objects',
    )
})
