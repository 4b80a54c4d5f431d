// What each operation answers: as types for the client, and as JSON Schemas for the OpenAPI document.

import type { BatchPreview, BatchRecord } from '../addons/batches/batches.ts'
import type { BuildRecord } from '../addons/builds/builds.ts'
import type { CheckReport } from '../addons/builds/check-report.ts'
import type { RetentionRecord } from '../addons/retention/calls.ts'
import type { SweepReport } from '../addons/retention/sweep.ts'
import type { ScheduleDescription, ScheduleRecord, ScheduleSlots } from '../addons/schedules/schedules.ts'
import type { ViewRecord } from '../addons/views/views.ts'
import type { JsonSchema } from '../core/base/described.ts'
import type { Failure } from '../core/base/failure.ts'
import type { Json } from '../core/base/value.ts'
import type {
  HistoryEvent,
  Page,
  QueueRecord,
  RunGroup,
  RunRecord,
  StepRecord,
  StoredDefinition,
  StreamPart,
  StreamRecord,
  Submitted,
  Timeline,
  Why,
  WorkerRecord,
} from '../core/index.ts'
import { ENDED, LIVE } from '../core/index.ts'
import type { Worked } from '../until-idle.ts'

export type { Worked } from '../until-idle.ts'

import type { Batches, LiveEvent, WindowEvent } from './live/events.ts'
import type { StreamEvent } from './live/stream-events.ts'
import { type OperationName, SCOPES, type Scope } from './routes.ts'

/** A run that a call started, or found. */
export interface Started {
  readonly runId: string
  readonly workflowId: string
  /** False if the run existed before. */
  readonly isNew: boolean
  /** Another run in progress with the same workflow id. */
  readonly alongside?: string
  /** The run belongs to the idempotency key of the call: this call created it, or an earlier one with the key. */
  readonly keyed?: true
}

/** Why there is nothing to tell yet. */
interface Unfinished {
  readonly why: Why
  /** The same in one sentence. */
  readonly text: string
}

/** How a run ended; or, if it has not ended, why. */
export type Outcome =
  | { readonly runId: string; readonly status: 'completed'; readonly output: unknown }
  | {
      readonly runId: string
      readonly status: 'failed'
      readonly failure: Failure
      readonly compensationFailures: readonly Failure[]
    }
  | { readonly runId: string; readonly status: 'cancelled'; readonly reason?: string }
  | ({ readonly runId: string; readonly status: 'live' } & Unfinished)

/** The answer to an update; `why` if there is none yet. */
export type Answer =
  | { readonly messageId: string; readonly result: unknown }
  | ({ readonly messageId: string } & Unfinished)

/** Why a run makes no progress; or why that cannot be told. */
export type WhyOrError = { readonly run: string } & (
  | { readonly why: Why }
  | { readonly error: { readonly code: string; readonly message: string } }
)

export interface HistoryPage {
  readonly generation: number
  readonly events: readonly HistoryEvent[]
  /** Pass it as `after` to read on. Absent at the end of what there is now. */
  readonly next?: number
}

/** Runs that were started within a span of time, by their status now. */
export interface HistogramBin {
  readonly from: Date
  readonly to: Date
  readonly counts: Readonly<Record<string, number>>
}

/** A workflow that can be started. */
export interface WorkflowInfo {
  readonly name: string
  /** How many living workers can run it. */
  readonly workers: number
  /** The newest version of its definition in the store, if it is a document. */
  readonly version?: number
  /** The JSON Schema of its input, if its code has a schema that can describe itself. */
  readonly input?: Json
}

export interface Health {
  /** `degraded` if runs are in progress and no worker is alive. */
  readonly status: 'healthy' | 'degraded'
  readonly store: string
  readonly version: string
  readonly workers: { readonly alive: number; readonly all: number }
  readonly runs: { readonly live: number; readonly paused: number }
}

/** One change that was made through a server. */
export interface AuditEntry {
  readonly at: Date
  /** The name of the token. */
  readonly by: string
  readonly operation: string
  /** What it was done to: a run, a schedule, a build and so on. */
  readonly target?: string
  /** The reason that the caller gave. */
  readonly reason?: string
  /** `done`, or the code of the error. Absent if the server stopped before it knew: the history of the run decides. */
  readonly outcome?: string
  readonly requestId: string
}

/** What a token may do. */
export interface Credential {
  /** The name of the token, for the audit trail. */
  readonly name: string
  readonly scope: Exclude<Scope, 'none'>
  /** The namespace that it belongs to. */
  readonly namespace: string
}

/** A token as people see it: everything but its secret. */
export interface TokenRecord extends Credential {
  readonly id: string
  readonly createdAt: Date
  readonly expiresAt?: Date
  readonly revokedAt?: Date
}

export interface Me {
  /** The name of the token; absent if the server needs none. */
  readonly name?: string
  readonly scope: Scope
}

/** A page of a stream. */
export interface StreamPageAnswer {
  readonly items: readonly { readonly offset: number; readonly part: number; readonly chunk: unknown }[]
  /** All parts of the stream, by their numbers. */
  readonly parts: readonly StreamPart[]
  /** The offset that the next page begins with; absent if this has all items so far. */
  readonly next?: number
  /** True if no item comes after these. */
  readonly closed: boolean
}

type Nothing = undefined

/** What each operation answers. Operations whose answers are streams are not here. */
export interface Outputs {
  'runs.list': Page<RunRecord>
  'runs.count': { readonly count: number }
  'runs.groups': { readonly items: readonly RunGroup[] }
  'runs.histogram': { readonly items: readonly HistogramBin[] }
  'runs.get': RunRecord
  'runs.why': Why
  'runs.whyMany': { readonly items: readonly WhyOrError[] }
  'runs.history': HistoryPage
  'runs.steps': { readonly items: readonly StepRecord[] }
  'runs.timeline': Timeline
  'runs.result': Outcome
  'runs.query': { readonly result: unknown }
  'runs.updateResult': Answer
  'runs.export': AsyncIterable<string>
  'streams.list': { readonly items: readonly StreamRecord[] }
  'streams.read': StreamPageAnswer
  /** Undefined if the client has everything, and was told the end. */
  'live.stream': Batches<StreamEvent> | undefined
  /** Undefined if the run has ended and the client has everything. */
  'live.run': Batches<LiveEvent> | undefined
  'live.runs': Batches<WindowEvent>
  'runs.start': Started & { readonly outcome?: Outcome }
  'runs.startMany': { readonly items: readonly Started[] }
  'runs.signalWithStart': Started
  'runs.updateWithStart': Started & Answer
  'runs.signal': Accepted
  'runs.update': Answer
  'runs.trigger': Accepted
  'runs.cancel': Accepted
  'runs.terminate': Accepted
  'runs.pause': Accepted
  'runs.resume': Accepted
  'runs.retry': Accepted
  'runs.reset': Accepted
  'runs.fork': { readonly runId: string }
  'runs.migrate': Accepted
  'runs.discard': Accepted
  'completions.resolve': Accepted
  'completions.reject': Accepted
  'batches.preview': BatchPreview
  'batches.list': Page<BatchRecord>
  'batches.get': BatchRecord
  'batches.start': Accepted
  'batches.stop': Accepted
  'schedules.list': Page<ScheduleRecord>
  'schedules.get': ScheduleDescription
  'schedules.set': Nothing
  'schedules.update': Nothing
  'schedules.delete': Nothing
  'schedules.pause': Nothing
  'schedules.resume': Nothing
  'schedules.trigger': { readonly runId: string }
  'schedules.slots': ScheduleSlots
  'schedules.backfill': { readonly slots: number }
  'views.list': { readonly items: readonly ViewRecord[] }
  'views.set': Nothing
  'views.delete': Nothing
  'workflows.list': { readonly items: readonly WorkflowInfo[] }
  'definitions.list': { readonly items: readonly string[] }
  'definitions.get': { readonly items: readonly StoredDefinition[] }
  'definitions.submit': Pick<Submitted, 'name' | 'version' | 'definitionHash'>
  'builds.list': { readonly items: readonly BuildRecord[] }
  'builds.get': { readonly known: boolean }
  'builds.checks': { readonly items: readonly CheckReport[] }
  'builds.rollOut': Nothing
  'builds.retire': Nothing
  'retention.get': { readonly retention?: RetentionRecord }
  'retention.set': Nothing
  'retention.remove': Nothing
  'retention.purge': SweepReport
  'workers.list': { readonly items: readonly WorkerRecord[] }
  'queues.list': { readonly items: readonly QueueRecord[] }
  'workers.work': Worked
  'health.get': Health
  'audit.list': Page<AuditEntry>
  'tokens.list': { readonly items: readonly TokenRecord[] }
  'tokens.create': TokenRecord & { readonly token: string }
  'tokens.revoke': Nothing
  'me.get': Me
  'openapi.get': object
}

/** The call is durable. */
export interface Accepted {
  readonly accepted: true
}

export type OutputOf<N extends OperationName> = Outputs[N]

// ── JSON Schemas ──

const text = { type: 'string' } as const
const whole = { type: 'integer' } as const
const flag = { type: 'boolean' } as const
const time = { type: 'string', format: 'date-time' } as const
const anything = {} as const
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
const values = { type: 'object', additionalProperties: true } as const

/** An object: a field whose name ends with `?` may be absent. Further fields may be added in later releases. */
function shape(fields: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const entries = Object.entries(fields)
  const required = entries.flatMap(([name]) => (name.endsWith('?') ? [] : [name]))
  const properties = Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema]))
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/** Fails to compile if a field of the type is not described, or has another name. */
type Fields<T> = { readonly [K in keyof T & string as undefined extends T[K] ? `${K}?` : K]-?: JsonSchema }
function shapeOf<T>(fields: Fields<T>): JsonSchema {
  return shape(fields)
}

const started = {
  ...{ runId: text, workflowId: text, isNew: flag },
  ...{ 'alongside?': text, 'keyed?': flag },
} satisfies Fields<Started>
const batch = {
  ...{ id: text, operation: text, state: text, 'reason?': text, matched: whole, done: whole, failed: whole },
  ...{ failures: list(shape({ runId: text, code: text })), createdAt: time, 'endedAt?': time },
} satisfies Fields<BatchRecord>
const token = {
  ...{ id: text, name: text, scope: { type: 'string', enum: ['read', 'operate', 'admin'] }, namespace: text },
  ...{ createdAt: time, 'expiresAt?': time, 'revokedAt?': time },
} satisfies Fields<TokenRecord>
const answer = { 'result?': anything, 'why?': ref('Why'), 'text?': text } as const
const page = (items: JsonSchema): JsonSchema => shape({ items: list(items), 'cursor?': text })
const items = (of: JsonSchema): JsonSchema => shape({ items: list(of) })

/** The components of the OpenAPI document. */
export const components: Readonly<Record<string, JsonSchema>> = {
  Failure: shapeOf<Failure>({
    ...{ type: text, message: text, retryable: flag, 'code?': text, 'details?': anything, 'stack?': text },
    'cause?': ref('Failure'),
  }),
  Run: shapeOf<RunRecord>({
    ...{ runId: text, workflowId: text, name: text, status: { type: 'string', enum: [...LIVE, ...ENDED] } },
    ...{ 'input?': anything, 'output?': anything, 'movedTo?': text, 'waitingFor?': text, 'failure?': ref('Failure') },
    ...{ 'compensationFailures?': list(ref('Failure')), memo: values, attributes: values, 'parentRunId?': text },
    ...{ queue: text, priority: whole, generation: whole, createdAt: time, updatedAt: time, 'endedAt?': time },
    'unreadable?': shape({ code: text, message: text }),
  }),
  RunGroup: shapeOf<RunGroup>({ key: text, count: whole, oldest: time }),
  Why: { ...shape({ reason: text, 'suggestion?': text }), additionalProperties: true },
  Event: { ...shape({ type: text, seq: whole, at: time, 'step?': text }), additionalProperties: true },
  Step: shapeOf<StepRecord>({
    ...{ step: text, kind: text, state: text, attempts: whole, 'key?': text, 'startedAt?': time, 'endedAt?': time },
    ...{ 'items?': shape({ all: whole, ended: whole }), 'failure?': ref('Failure') },
    ...{ 'after?': list(text), 'rule?': text },
  }),
  Stream: shapeOf<StreamRecord>({ name: text, items: whole, bytes: whole, parts: whole, closed: flag }),
  StreamPart: shapeOf<StreamPart>({
    ...{ number: whole, 'step?': text, generation: whole, attempt: whole, chapter: whole, keep: whole },
  }),
  Started: shape(started),
  Outcome: {
    ...shape({ runId: text, status: { type: 'string', enum: ['completed', 'failed', 'cancelled', 'live'] } }),
    additionalProperties: true,
  },
  Answer: shape({ messageId: text, ...answer }),
  Accepted: shape({ accepted: { const: true } }),
  Schedule: {
    ...shape({ id: text, workflow: text, paused: flag, next: list(time), missed: whole }),
    additionalProperties: true,
  },
  Definition: shapeOf<StoredDefinition>({
    ...{ name: text, version: whole, definitionHash: text, contentHash: text, submittedAt: whole },
    'document?': anything,
  }),
  Batch: shape(batch),
  Build: { ...shape({ build: text, retired: flag }), additionalProperties: true },
  CheckReport: shapeOf<CheckReport>({
    ...{
      build: text,
      at: time,
      counts: shape({ all: whole, moves: whole, differs: whole, noCode: whole, pinned: whole }),
    },
    groups: list(shape({ finding: text, workflow: text, text, count: whole, runs: list(values) })),
  }),
  Retention: shapeOf<RetentionRecord>({
    ...{ policy: values, runId: text, purged: whole },
    'lastPass?': shape({ at: time, purged: whole, needed: whole }),
  }),
  Worker: shapeOf<WorkerRecord>({
    ...{ worker: text, queues: list(text), 'workflows?': list(text), 'activities?': list(text) },
    ...{ 'build?': text, pin: flag, alive: flag, expiresAt: time },
  }),
  Queue: shapeOf<QueueRecord>({
    queue: text,
    kind: { type: 'string', enum: ['run', 'task'] },
    due: whole,
    oldest: time,
  }),
  View: shapeOf<ViewRecord>({ name: text, query: text }),
  Workflow: shapeOf<WorkflowInfo>({ name: text, workers: whole, 'version?': whole, 'input?': values }),
  HistogramBin: shapeOf<HistogramBin>({
    ...{ from: time, to: time },
    counts: { type: 'object', additionalProperties: whole },
  }),
  Worked: shapeOf<Worked>({
    ...{ worker: text, ended: { type: 'string', enum: ['idle', 'time', 'stopped'] }, ms: whole },
    ...{ turns: whole, steps: whole, runs: whole, 'nextDue?': time },
  }),
  Health: shapeOf<Health>({
    ...{ status: { type: 'string', enum: ['healthy', 'degraded'] }, store: text, version: text },
    ...{ workers: shape({ alive: whole, all: whole }), runs: shape({ live: whole, paused: whole }) },
  }),
  AuditEntry: shapeOf<AuditEntry>({
    ...{ at: time, by: text, operation: text, 'target?': text, 'reason?': text, 'outcome?': text, requestId: text },
  }),
  Token: shapeOf<TokenRecord>(token),
  Problem: shape({
    ...{ type: text, title: text, status: whole, detail: text, code: text, requestId: text },
    ...{ 'details?': anything },
  }),
}

const accepted = ref('Accepted')
const runId = shape({ runId: text })

/** The JSON Schema of each answer; undefined for an answer without a body, or that is not JSON. */
export const outputs: Readonly<Record<OperationName, JsonSchema | undefined>> = {
  'runs.list': page(ref('Run')),
  'runs.count': shape({ count: whole }),
  'runs.groups': items(ref('RunGroup')),
  'runs.histogram': items(ref('HistogramBin')),
  'runs.get': ref('Run'),
  'runs.why': ref('Why'),
  'runs.whyMany': items({ ...shape({ run: text, 'why?': ref('Why') }), additionalProperties: true }),
  'runs.history': shape({ generation: whole, events: list(ref('Event')), 'next?': whole }),
  'runs.steps': items(ref('Step')),
  'runs.timeline': shape({ from: time, to: time, rows: list(values) }),
  'runs.result': ref('Outcome'),
  'runs.query': shape({ 'result?': anything }),
  'runs.updateResult': ref('Answer'),
  'runs.export': undefined,
  'streams.list': items(ref('Stream')),
  'streams.read': shape({
    ...{ items: list(shape({ offset: whole, part: whole, 'chunk?': anything })), parts: list(ref('StreamPart')) },
    ...{ 'next?': whole, closed: flag },
  }),
  'live.stream': undefined,
  'live.run': undefined,
  'live.runs': undefined,
  'runs.start': shape({ ...started, 'outcome?': ref('Outcome') }),
  'runs.startMany': items(ref('Started')),
  'runs.signalWithStart': ref('Started'),
  'runs.updateWithStart': shape({ ...started, messageId: text, ...answer }),
  'runs.signal': accepted,
  'runs.update': ref('Answer'),
  'runs.trigger': accepted,
  'runs.cancel': accepted,
  'runs.terminate': accepted,
  'runs.pause': accepted,
  'runs.resume': accepted,
  'runs.retry': accepted,
  'runs.reset': accepted,
  'runs.fork': runId,
  'runs.migrate': accepted,
  'runs.discard': accepted,
  'completions.resolve': accepted,
  'completions.reject': accepted,
  'batches.preview': { ...shape(batch), additionalProperties: true },
  'batches.list': page(ref('Batch')),
  'batches.get': ref('Batch'),
  'batches.start': accepted,
  'batches.stop': accepted,
  'schedules.list': page(ref('Schedule')),
  'schedules.get': ref('Schedule'),
  'schedules.set': undefined,
  'schedules.update': undefined,
  'schedules.delete': undefined,
  'schedules.pause': undefined,
  'schedules.resume': undefined,
  'schedules.trigger': runId,
  'schedules.slots': shapeOf<ScheduleSlots>({ slots: list(time), more: flag }),
  'schedules.backfill': shape({ slots: whole }),
  'views.list': items(ref('View')),
  'views.set': undefined,
  'views.delete': undefined,
  'workflows.list': items(ref('Workflow')),
  'definitions.list': items(text),
  'definitions.get': items(ref('Definition')),
  'definitions.submit': { ...shape({ name: text, version: whole, definitionHash: text }), additionalProperties: true },
  'builds.list': items(ref('Build')),
  'builds.get': shape({ known: flag }),
  'builds.checks': items(ref('CheckReport')),
  'builds.rollOut': undefined,
  'builds.retire': undefined,
  'retention.get': shape({ 'retention?': ref('Retention') }),
  'retention.set': undefined,
  'retention.remove': undefined,
  'retention.purge': shapeOf<SweepReport>({ purged: whole, needed: whole, byWorkflow: values, 'next?': text }),
  'workers.list': items(ref('Worker')),
  'queues.list': items(ref('Queue')),
  'workers.work': ref('Worked'),
  'health.get': ref('Health'),
  'audit.list': page(ref('AuditEntry')),
  'tokens.list': items(ref('Token')),
  'tokens.create': shape({ ...token, token: text }),
  'tokens.revoke': undefined,
  'me.get': shape({ 'name?': text, scope: { type: 'string', enum: [...SCOPES] } }),
  'openapi.get': values,
}
