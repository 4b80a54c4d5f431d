// What each operation takes: the descriptions that the calls of the client have, with runs and definitions as names. Types,
// checks and JSON Schemas follow from them.

import { previewOptions } from '../addons/batches/batches.ts'
import { purgeOptions, retentionPolicy } from '../addons/retention/options.ts'
import { backfillOptions, scheduleChange, wholeSchedule } from '../addons/schedules/options.ts'
import {
  amount,
  choice,
  type Described,
  type Description,
  duration,
  flag,
  given,
  hidden,
  listOf,
  moment,
  nested,
  option,
  required,
  text,
  whole,
} from '../core/base/described.ts'
import { limits } from '../core/base/limits.ts'
import {
  countOptions,
  editOptions,
  forkOptions,
  groupOptions,
  historyOptions,
  messageOptions,
  migrationOptions,
  pageOptions,
  resetOptions,
  runFilter,
  startOptions,
  stepsOptions,
  streamOptions,
  viewOptions,
} from '../core/index.ts'
import { untilIdleOptions } from '../until-idle.ts'
import { isPosition } from './live/events.ts'
import { isStreamPosition } from './live/stream-events.ts'
import type { Credential } from './outputs.ts'
import type { OperationName } from './routes.ts'

type TokenScope = Credential['scope']

const run = required(text('A run id; or `w:` and a workflow id, which means its newest run.'))
const streamName = required(text('The name of the stream.'))
const schedule = required(text('The id of the schedule.'))
const batch = required(text('The id of the batch.'))
const view = required(text('The name of the view.'))
const build = required(text('The name of the build.'))
const workflow = required(text('The name of the workflow.'))
const payload = given<unknown>('The payload of the message.', 'any JSON value')
const input = given<unknown>('The input of the run.', 'any JSON value')
const reason = text('The reason, for the history.')
const wait = duration('How long to wait for it: at most 60 s.', { otherwise: 'not at all' })

const { transaction: _, ...start } = startOptions
const filter = {
  ...runFilter,
  workflow: option<string | readonly string[]>(
    runFilter.workflow.about,
    'the name of a workflow, or a list of names',
    (value) => [value].flat().every((each) => typeof each === 'string'),
    { schema: runFilter.workflow.schema ?? {} },
  ),
} as const
const edit = {
  ...editOptions,
  note: required(editOptions.note),
} as const
const token = { token: required(hidden(text('The token of the webhook or step.'))) } as const
const message = (is: string) => ({ run, name: required(text(`The name of the ${is}.`)) }) as const

function someRuns(about: string, most: number) {
  const accepts = (value: unknown): boolean =>
    Array.isArray(value) && value.length <= most && value.every((each) => typeof each === 'string')
  const schema = { type: 'array', items: { type: 'string' }, maxItems: most }
  const takes = `a list of at most ${most} runs`
  return option<readonly string[]>(`${about}, at most ${most}.`, takes, accepts, { schema })
}

export const inputs = {
  'runs.list': { ...filter, ...pageOptions },
  'runs.count': { ...filter, ...countOptions },
  'runs.groups': { ...filter, ...groupOptions },
  'runs.histogram': {
    ...filter,
    startedAfter: required(runFilter.startedAfter),
    startedBefore: required(runFilter.startedBefore),
    bins: whole('Into how many equal spans the time is divided.', [1, limits.histogramBinsMax], { otherwise: '60' }),
  },
  'runs.get': { run },
  'runs.why': { run },
  'runs.whyMany': {
    runs: required(someRuns('The runs', limits.whyRunsMax)),
  },
  'runs.history': {
    run,
    ...historyOptions,
    limit: whole('How many events the page has at most.', [1, limits.listPageMax], {
      otherwise: String(limits.historyEventsShown),
    }),
    payloads: flag('Whether events have their inputs, results and payloads.', { otherwise: 'true' }),
  },
  'runs.steps': { run, ...stepsOptions },
  'runs.timeline': { run, ...viewOptions },
  'runs.result': { run, wait },
  'runs.query': { ...message('query'), payload },
  'runs.updateResult': { run, messageId: required(text('The id of the update.')) },
  'runs.export': filter,
  'streams.list': { run },
  'streams.read': {
    run,
    name: streamName,
    from: streamOptions.from,
  },
  'live.run': {
    run,
    after: option<string>(
      'The id of the last event that the client has. The header `Last-Event-ID` replaces it.',
      "a position such as '2.41': a generation and the number of an event",
      isPosition,
      { otherwise: 'the beginning', schema: { type: 'string', pattern: '^[0-9]+[.][0-9]+$' } },
    ),
    payloads: flag('Whether events have their inputs, results and payloads.', { otherwise: 'false' }),
  },
  'live.stream': {
    run,
    name: streamName,
    from: streamOptions.from,
    after: option<string>(
      'The id of the last event that the client has; it replaces `from`. The header `Last-Event-ID` replaces it.',
      "the id of an item, such as '41', or of the end, such as 'end.42'",
      isStreamPosition,
      { schema: { type: 'string', pattern: '^(end[.])?[0-9]+$' } },
    ),
  },
  'live.runs': {
    ...filter,
    runs: someRuns('These runs, instead of those of a filter', limits.liveRunsMax),
    limit: whole('How many runs the window has at most: the newest ones.', [1, limits.liveRunsMax], {
      otherwise: String(limits.listPageDefault),
    }),
    counts: flag('Whether to count the runs of the filter by status, too.', { otherwise: 'false' }),
  },
  'runs.start': { workflow, input, ...start, wait },
  'runs.startMany': {
    workflow,
    runs: required(
      listOf(
        'The runs to start, with the options of a start.',
        'a list of objects',
        nested('A run.', { input, ...start }),
      ),
    ),
  },
  'runs.signalWithStart': {
    ...{ workflow, input, ...start, payload, ...messageOptions },
    signal: required(text('The name of the signal.')),
  },
  'runs.updateWithStart': {
    ...{ workflow, input, ...start, payload, ...messageOptions, wait },
    update: required(text('The name of the update.')),
  },
  'runs.signal': { ...message('signal'), payload, ...messageOptions },
  'runs.update': { ...message('update'), payload, ...messageOptions, wait },
  'runs.trigger': { run, input },
  'runs.cancel': { run, reason },
  'runs.terminate': { run, reason: required(reason) },
  'runs.pause': { run, note: reason },
  'runs.resume': { run, edit: nested('Completes a step by hand first.', edit) },
  'runs.retry': { run },
  'runs.reset': { run, step: required(resetOptions.step) },
  'runs.fork': { run, ...forkOptions, step: required(forkOptions.step) },
  'runs.migrate': { run, ...migrationOptions, definitionHash: required(migrationOptions.definitionHash) },
  'runs.discard': { run, messageId: required(text('The id of the message, as `why` names it.')), note: reason },
  'completions.resolve': { ...token, payload },
  'completions.reject': { ...token, reason: required(reason) },
  'batches.preview': {
    ...previewOptions,
    filter: required(nested('The runs, unless the operation is not for their state.', filter)),
  },
  'batches.list': pageOptions,
  'batches.get': { batch },
  'batches.start': { batch },
  'batches.stop': { batch },
  'schedules.list': pageOptions,
  'schedules.get': { schedule },
  'schedules.set': { schedule, ...wholeSchedule, workflow },
  'schedules.update': { schedule, ...scheduleChange, workflow: text('The name of the workflow.') },
  'schedules.delete': { schedule },
  'schedules.pause': { schedule, note: reason },
  'schedules.resume': { schedule },
  'schedules.trigger': { schedule },
  'schedules.slots': { schedule, ...backfillOptions },
  'schedules.backfill': { schedule, ...backfillOptions },
  'views.list': {},
  'views.set': { view, query: required(text('The query, as the filter bar of the web UI has it.')) },
  'views.delete': { view },
  'workflows.list': {},
  'definitions.list': {},
  'definitions.get': { name: required(text('The name of the definition.')) },
  'definitions.submit': {
    document: required(
      option<object | string>(
        'The graph: an object, or text in JSON or YAML.',
        'an object or a string',
        (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
        { schema: { anyOf: [{ type: 'object' }, { type: 'string' }] } },
      ),
    ),
  },
  'builds.list': {},
  'builds.get': { build },
  'builds.checks': {},
  'builds.rollOut': { build, percent: required(amount('Its share of new runs, in percent.', [0, 100])) },
  'builds.retire': { build },
  'retention.get': {},
  'retention.set': retentionPolicy,
  'retention.remove': {},
  'retention.purge': {
    policy: required(nested('Which runs are kept; all others that have ended are deleted.', retentionPolicy)),
    ...purgeOptions,
    from: text('Where to go on: `next` of the call before.'),
  },
  'workers.list': {},
  'queues.list': {},
  'workers.work': { for: untilIdleOptions.for, linger: untilIdleOptions.linger, queues: untilIdleOptions.queues },
  'health.get': {},
  'audit.list': {
    ...pageOptions,
    by: text('Only changes that were made with the token of this name.'),
    operation: text('Only this operation, such as `runs.cancel`; or all that begin with `runs.`.'),
    target: text('Only changes of this target: a run id, the id of a schedule, a build and so on.'),
  },
  'tokens.list': {},
  'tokens.create': {
    name: required(text('What the token is for; the audit trail names it.')),
    scope: required(choice<TokenScope>('What the token may do.', ['read', 'operate', 'admin'])),
    expiresAt: moment('When it ends.', { otherwise: 'never' }),
  },
  'tokens.revoke': { token: required(text('The id of the token.')) },
  'me.get': {},
  'openapi.get': {},
} as const satisfies Readonly<Record<OperationName, Description>>

/** What an operation takes. */
export type InputOf<N extends OperationName> = Described<(typeof inputs)[N]>
