// Every call that takes an options object, with the description of its options. `test/options.test.ts` fuzzes them all.
import {
  type AnyActivity,
  type AnyWorkflow,
  activity,
  type Context,
  graph,
  jsonLogger,
  type Act as MachineAct,
  machine,
  open,
  PawlError,
  type RunHandle,
  signal,
  stream,
  typed,
  update,
  workflow,
} from 'pawl'
import { compress, encrypt, offload } from 'pawl/codecs'
import { callExternalService, handlers, llmService, notifyEmail, notifyWebhook, verifyWebhook } from 'pawl/handlers'
import { otel } from 'pawl/otel'
import { server } from 'pawl/server'
import { simulate, testEngine } from 'pawl/testing'
import { batchOptions } from '../../src/addons/batches/batch-options.ts'
import { compressOptions } from '../../src/addons/codecs/compress.ts'
import { encryptOptions } from '../../src/addons/codecs/encrypt.ts'
import { offloadOptions } from '../../src/addons/codecs/offload.ts'
import { callInput, httpOptions } from '../../src/addons/handlers/call-external-service.ts'
import { handlersOptions } from '../../src/addons/handlers/handlers.ts'
import { llmInput, llmOptions } from '../../src/addons/handlers/llm-service.ts'
import { emailInput, emailOptions } from '../../src/addons/handlers/notify-email.ts'
import { webhookInput, webhookOptions } from '../../src/addons/handlers/notify-webhook.ts'
import { smtpServer } from '../../src/addons/handlers/smtp.ts'
import { verifyOptions } from '../../src/addons/handlers/webhook-signature.ts'
import { purgeOptions, retentionPolicy } from '../../src/addons/retention/options.ts'
import { backfillOptions, scheduleChange, wholeSchedule } from '../../src/addons/schedules/options.ts'
import type { Description } from '../../src/core/base/described.ts'
import { groupOptions, pageOptions, runFilter } from '../../src/core/client/filter.ts'
import {
  editOptions,
  forkOptions,
  historyOptions,
  messageOptions,
  migrationOptions,
  resetOptions,
  resultOptions,
} from '../../src/core/client/run-handle.ts'
import { beginOptions, startOptions, startRequests } from '../../src/core/client/start-options.ts'
import { streamOptions } from '../../src/core/client/streams.ts'
import { graphOptions } from '../../src/core/definitions/graph.ts'
import { actionOptions } from '../../src/core/definitions/machine.ts'
import {
  activityOptions,
  childOptions,
  detachedOptions,
  handlerOptions,
  mapOptions,
  retryPolicy,
  runOptions,
  runReference,
  scopeOptions,
  signalWithStartOptions,
  sleepOptions,
  stepOptions,
  waitOptions,
  workflowOptions,
} from '../../src/core/definitions/options.ts'
import { jsonLoggerOptions } from '../../src/core/runtime/json-logger.ts'
import { workerOptions } from '../../src/core/worker/options.ts'
import { openOptions } from '../../src/engine.ts'
import { moveOptions, moveRuns } from '../../src/moving.ts'
import { otelOptions } from '../../src/otel/options.ts'
import { closeOptions, listenOptions, serverOptions } from '../../src/server/options.ts'
import { allSimulateOptions } from '../../src/testing/simulate.ts'
import { disturbances, testOptions } from '../../src/testing/test-engine.ts'
import { untilIdleOptions } from '../../src/until-idle.ts'
import { stepContext } from './handlers.ts'

export interface Given {
  readonly title: string
  readonly options: Description
  /** Passes the options; throws, or returns a rejected promise, if they are invalid. */
  readonly give: (options: never) => unknown
  /** Names of options that another style has, and that may be used by mistake. */
  readonly besides?: readonly string[]
  /** Whether the options are part of a larger object. */
  readonly isPart?: true
}

type Act = MachineAct<{ post: typeof post }, never, void>

const nothing = async (): Promise<void> => {}
export const job = workflow('job', nothing)
const go = signal('go')
const post = activity('post', nothing)

/** Runs a workflow whose body passes the options, and throws its error. */
function within(body: (ctx: Context) => Promise<unknown>): () => Promise<void> {
  return run(workflow('asks', body as never))
}

function run(asks: AnyWorkflow): () => Promise<void> {
  return async () => {
    const engine = testEngine({
      workflows: [asks, job],
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

export async function onEngine(use: (engine: Awaited<ReturnType<typeof open>>) => unknown): Promise<void> {
  const engine = await open('memory:', { workflows: [job] })
  try {
    await use(engine)
  } finally {
    await engine.close()
  }
}

/** Runs a machine whose first handler passes the options. */
function moving(move: (act: Act) => unknown): () => Promise<void> {
  const shape = { input: typed<void>(), state: typed<void>(), output: typed<void>() }
  const handlers = {
    start: (_: void, act: Act) => move(act) as never,
    activityCompleted: { post: (() => []) as never },
  }
  return run(machine('asks', { ...shape, activities: { post } }).on(handlers))
}

/** Runs a handler with the options as its input. */
const handling =
  (handler: AnyActivity) =>
  (input: unknown): Promise<unknown> =>
    handler.handler(input as never, stepContext()).catch((error: Error) => {
      throw new PawlError('INPUT_INVALID', error.message)
    })

const mail = { smtp: 'smtps://mail.test', from: 'a@b.test', templates: {} } as const

export const calls: readonly Given[] = [
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
    title: 'graph.step',
    options: graphOptions.step,
    give: (o) => graph('g').step('s', o, nothing),
  },
  {
    title: 'machine',
    isPart: true,
    options: workflowOptions,
    give: (o) =>
      machine('m', {
        input: typed<void>(),
        state: typed<void>(),
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
  {
    title: 'moveRuns',
    options: moveOptions,
    give: (o) => moveRuns({ from: 'memory:', to: 'memory:', ...(o as object) }),
    isPart: true,
  },
  { title: 'engine.work', options: workerOptions, give: (o) => onEngine((e) => e.work(o)) },
  {
    title: 'engine.workUntilIdle',
    options: untilIdleOptions,
    give: (o) => onEngine((e) => e.workUntilIdle(o)),
  },
  {
    title: 'engine.start',
    options: startOptions,
    give: (o) => onEngine((e) => e.start(job, undefined, o)),
  },
  {
    title: 'engine.startMany',
    options: beginOptions,
    give: (o) => onEngine((e) => e.startMany(job, [o])),
    isPart: true,
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
    title: 'engine.retention.set',
    options: retentionPolicy,
    give: (o) => onEngine((e) => e.retention.set(o)),
  },
  {
    title: 'engine.retention.purge',
    options: purgeOptions,
    give: (o) => onEngine((e) => e.retention.purge({ keep: '1d' }, o)),
  },
  {
    title: 'engine.schedules.set',
    options: wholeSchedule,
    give: (o) => onEngine((e) => e.schedules.set('s', { workflow: job, every: '1h', ...(o as object) } as never)),
    isPart: true,
  },
  {
    title: 'schedule.backfill',
    options: backfillOptions,
    give: (o) => onEngine((e) => e.schedules.get('s').backfill(o)),
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
  {
    title: 'run.stream',
    options: streamOptions,
    give: (o) => onRun((run) => run.stream(stream('s'), o)[Symbol.asyncIterator]().next()),
  },
  { title: 'run.resume', options: editOptions, give: (o) => onRun((run) => run.resume(o)) },
  { title: 'run.reset', options: resetOptions, give: (o) => onRun((run) => run.reset(o)) },
  { title: 'run.fork', options: forkOptions, give: (o) => onRun((run) => run.fork(o)) },
  { title: 'run.migrate', options: migrationOptions, give: (o) => onRun((run) => run.migrate(o)) },
  { title: 'server', options: serverOptions, give: (o) => onEngine((e) => server(e, o)) },
  { title: 'listen', options: listenOptions, give: (o) => onEngine((e) => server(e).listen(o)) },
  { title: 'close of a server', options: closeOptions, give: (o) => onEngine((e) => server(e).close(o)) },
  { title: 'testEngine', options: testOptions, give: (o) => testEngine(o) },
  {
    title: 'simulate',
    options: allSimulateOptions,
    give: (o) => simulate(o, nothing),
  },
  {
    title: 'graph.each',
    options: graphOptions.each,
    give: (o) => graph('g').each('s', o, nothing),
  },
  {
    title: 'graph.run',
    options: graphOptions.step,
    give: (o) => graph('g').run('s', o, post, () => undefined),
  },
  { title: 'graph.wait', options: graphOptions.wait, give: (o) => graph('g').wait('s', o, go) },
  {
    title: 'graph.compensate',
    options: graphOptions.compensate,
    give: (o) => graph('g').step('s', nothing).compensate(o, nothing),
  },
  {
    title: 'act.run of a machine',
    options: actionOptions.run,
    give: (o) => moving((act: Act) => [undefined, act.run('post', undefined, o)])(),
  },
  {
    title: 'act.child of a machine',
    options: actionOptions.child,
    give: (o) => moving((act: Act) => [undefined, act.child(job, undefined, o)])(),
  },
  {
    title: 'ctx.bind',
    options: runOptions,
    give: (o) => within((ctx) => ctx.bind(post, o)(undefined))(),
  },
  {
    title: 'ctx.bind of a workflow',
    options: childOptions,
    give: (o) => within((ctx) => ctx.bind(job, o)(undefined))(),
  },
  {
    title: 'ctx.bind, each call',
    options: sleepOptions,
    give: (o) => within((ctx) => ctx.bind(post)(undefined, o))(),
  },
  {
    title: 'ctx.start',
    options: detachedOptions,
    give: (o) => within((ctx) => ctx.start(job, undefined, o))(),
  },
  {
    title: 'ctx.signalWithStart',
    options: signalWithStartOptions,
    give: (o) => within((ctx) => ctx.signalWithStart(job, o))(),
  },
  {
    title: 'ctx.signal to a workflow id',
    options: runReference,
    give: (o) => within((ctx) => ctx.signal(o, go))(),
  },
  {
    title: 'ctx.cancelRun of a workflow id',
    options: runReference,
    give: (o) => within((ctx) => ctx.cancelRun(o))(),
  },
  {
    title: 'ctx.sleep',
    options: sleepOptions,
    give: (o) => within((ctx) => ctx.sleep('1s', o))(),
  },
  {
    title: 'ctx.sleepUntil',
    options: sleepOptions,
    give: (o) => within((ctx) => ctx.sleepUntil(new Date(0), o))(),
  },
  {
    title: 'ctx.wait for a condition',
    options: waitOptions,
    give: (o) => within((ctx) => ctx.wait(() => true, o))(),
  },
  {
    title: 'engine.execute',
    options: startOptions,
    give: (o) => onEngine((e) => e.execute(job, undefined, o)),
  },
  {
    title: 'engine.signalWithStart',
    options: startRequests.signal,
    give: (o) => onEngine((e) => e.signalWithStart(job, o)),
  },
  {
    title: 'engine.updateWithStart',
    options: startRequests.update,
    give: (o) => onEngine((e) => e.updateWithStart(job, o)),
  },
  { title: 'engine.get', options: runReference, give: (o) => onEngine((e) => e.get(o)) },
  { title: 'engine.count', options: runFilter, give: (o) => onEngine((e) => e.count(o)) },
  { title: 'engine.groups', options: groupOptions, give: (o) => onEngine((e) => e.groups({}, o)) },
  { title: 'engine.export', options: runFilter, give: (o) => onEngine((e) => e.export(o).next()) },
  {
    title: 'engine.check',
    options: { workflow: runFilter.workflow },
    give: (o) => onEngine((e) => e.check(o).next()),
  },
  {
    title: 'engine.schedules.list',
    options: pageOptions,
    give: (o) => onEngine((e) => e.schedules.list(o)),
  },
  {
    title: 'migrate of a batch',
    options: migrationOptions,
    give: (o) => onEngine((e) => e.batch({}, { limit: 1 }).migrate(o)),
  },
  {
    title: 'disturb of a test engine',
    options: disturbances,
    give: async (o) => {
      await using engine = await testEngine()
      engine.disturb(o)
    },
  },
  { title: 'jsonLogger', options: jsonLoggerOptions, give: (o) => jsonLogger(o) },
  { title: 'otel', options: otelOptions, give: (o) => otel(o) },
  { title: 'compress', options: compressOptions, give: (o) => compress(o) },
  { title: 'encrypt', options: encryptOptions, give: (o) => encrypt(o) },
  { title: 'offload', options: offloadOptions, give: (o) => offload(o) },
  { title: 'handlers', options: handlersOptions, give: (o) => handlers(o) },
  { title: 'callExternalService', options: httpOptions, give: (o) => callExternalService(o) },
  { title: 'llmService', options: llmOptions, give: (o) => llmService(o) },
  { title: 'notifyWebhook', options: webhookOptions, give: (o) => notifyWebhook(o) },
  { title: 'notifyEmail', options: emailOptions, give: (o) => notifyEmail(o) },
  {
    title: '`smtp` of notifyEmail',
    options: smtpServer,
    give: (o) => notifyEmail({ ...mail, smtp: o }),
  },
  { title: 'verifyWebhook', options: verifyOptions, give: (o) => verifyWebhook({}, '', 'x', o) },
  {
    title: 'the input of call_external_service',
    options: callInput,
    give: handling(callExternalService()),
  },
  {
    title: 'the input of llm_service',
    options: llmInput,
    give: handling(llmService({ baseUrl: 'http://localhost/v1' })),
  },
  {
    title: 'the input of notify.webhook.v1',
    options: webhookInput,
    give: handling(notifyWebhook()),
  },
  { title: 'the input of notify.email.v1', options: emailInput, give: handling(notifyEmail(mail)) },
]

function onRun(use: (run: RunHandle<void>) => unknown): Promise<void> {
  return onEngine(async (engine) => use(await engine.start(job)))
}
