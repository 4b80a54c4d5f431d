// Every operation of the HTTP API: its route, who may use it, and what it does. Plain data, so that a browser can import
// it. An operation has a row here, in inputs.ts, in outputs.ts and in handlers/: the compiler asks for each of them.
// Everything else follows: the route, the OpenAPI document, the typed client, the tool for MCP, and its row in the test
// of authorisation.

/** Each scope includes the ones before it. */
export const SCOPES = ['none', 'read', 'operate', 'admin'] as const
/** Who may use an operation: anyone, or a token with this scope or a higher one. */
export type Scope = (typeof SCOPES)[number]

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`. A name in braces is a field of the input, and fills one segment. */
  readonly path: string
  readonly scope: Scope
  /** The status of the answer. */
  readonly success: 200 | 201 | 202 | 204
  /** What it does: an imperative, for the docs, the OpenAPI document and tools. */
  readonly about: string
  /** The field of the input that the header `Idempotency-Key` fills. */
  readonly key?: 'idempotencyKey' | 'messageId'
  /** Offered to language models: to read always, to act if the user allows it. */
  readonly tool?: 'read' | 'act'
  /** It ends work or discards data, so tools ask first. */
  readonly dangerous?: true
  /** The answer is not JSON: server-sent events, or one JSON text per line. */
  readonly form?: 'events' | 'lines'
}

export const routes = {
  // ── Runs: read ──
  'runs.list': {
    method: 'GET',
    path: '/runs',
    scope: 'read',
    success: 200,
    about: 'List runs, newest first.',
    tool: 'read',
  },
  'runs.count': { method: 'GET', path: '/runs/count', scope: 'read', success: 200, about: 'Count runs.', tool: 'read' },
  'runs.groups': {
    ...{ method: 'GET', path: '/runs/groups', scope: 'read', success: 200, tool: 'read' },
    about: 'Count runs by what they wait for, why they failed, or what else they have in common; largest group first.',
  },
  'runs.histogram': {
    ...{ method: 'GET', path: '/runs/histogram', scope: 'read', success: 200 },
    about: 'Count runs by status over the time in which they were started.',
  },
  'runs.get': {
    ...{ method: 'GET', path: '/runs/{run}', scope: 'read', success: 200, tool: 'read' },
    about: 'Show a run: its status, input, output and attributes.',
  },
  'runs.why': {
    ...{ method: 'GET', path: '/runs/{run}/why', scope: 'read', success: 200, tool: 'read' },
    about: 'Explain why a run makes no progress, and what would help.',
  },
  'runs.whyMany': {
    ...{ method: 'POST', path: '/runs/why', scope: 'read', success: 200 },
    about: 'Explain for several runs why they make no progress.',
  },
  'runs.history': {
    ...{ method: 'GET', path: '/runs/{run}/history', scope: 'read', success: 200, tool: 'read' },
    about: 'Read a page of the events of a run.',
  },
  'runs.steps': {
    ...{ method: 'GET', path: '/runs/{run}/steps', scope: 'read', success: 200, tool: 'read' },
    about: 'List the steps of a run, now or after an event, including graph steps that have not started.',
  },
  'runs.timeline': {
    ...{ method: 'GET', path: '/runs/{run}/timeline', scope: 'read', success: 200 },
    about: 'Show a generation of a run, now or after an event, as rows with a beginning and an end.',
  },
  'runs.result': {
    ...{ method: 'GET', path: '/runs/{run}/result', scope: 'read', success: 200 },
    about: 'Wait for a run to end, and return how it ended.',
  },
  'runs.query': {
    ...{ method: 'POST', path: '/runs/{run}/queries/{name}', scope: 'read', success: 200 },
    about: 'Ask the code of a run a question. The server needs the code of its workflow.',
  },
  'runs.updateResult': {
    ...{ method: 'GET', path: '/runs/{run}/updates/{messageId}', scope: 'read', success: 200 },
    about: 'Read the answer to an update that was sent before.',
  },
  'runs.export': {
    ...{ method: 'GET', path: '/runs/export', scope: 'admin', success: 200, form: 'lines' },
    about: 'Export whole histories: one JSON text per line, one line per run.',
  },
  // ── Streams ──
  'streams.list': {
    ...{ method: 'GET', path: '/runs/{run}/streams', scope: 'read', success: 200 },
    about: 'List the streams that a run has written to.',
  },
  'streams.read': {
    ...{ method: 'GET', path: '/runs/{run}/streams/{name}', scope: 'read', success: 200, tool: 'read' },
    about: 'Read a page of the items of a stream.',
  },
  // ── Live events ──
  'live.run': {
    ...{ method: 'GET', path: '/runs/{run}/events', scope: 'read', success: 200, form: 'events' },
    about: 'Follow a run: every event of its history, once and in order, as it happens.',
  },
  'live.runs': {
    ...{ method: 'GET', path: '/events', scope: 'read', success: 200, form: 'events' },
    about: 'Follow the newest runs of a filter, or some runs: the newest state of each, when it changes.',
  },
  'live.stream': {
    ...{ method: 'GET', path: '/runs/{run}/streams/{name}/events', scope: 'read', success: 200, form: 'events' },
    about: 'Follow a stream of a run: every item from an offset, once and in order, as it is written.',
  },
  // ── Runs: start ──
  'runs.start': {
    ...{ method: 'POST', path: '/runs', scope: 'operate', success: 201, key: 'idempotencyKey', tool: 'act' },
    about: 'Start a run of a workflow. When this answers, the run is durable.',
  },
  'runs.startMany': {
    ...{ method: 'POST', path: '/runs/many', scope: 'operate', success: 201 },
    about: 'Start several runs of a workflow in one write.',
  },
  'runs.signalWithStart': {
    ...{ method: 'POST', path: '/runs/signal-with-start', scope: 'operate', success: 201, key: 'messageId' },
    about: 'Send a signal to the run of a workflow id; start the run if none is in progress.',
  },
  'runs.updateWithStart': {
    ...{ method: 'POST', path: '/runs/update-with-start', scope: 'operate', success: 201, key: 'messageId' },
    about: 'Send an update to the run of a workflow id and wait for its answer; start the run if none is in progress.',
  },
  // ── Runs: talk to ──
  'runs.signal': {
    ...{
      method: 'POST',
      path: '/runs/{run}/signals/{name}',
      scope: 'operate',
      success: 202,
      key: 'messageId',
      tool: 'act',
    },
    about: 'Send a signal to a run.',
  },
  'runs.update': {
    ...{
      method: 'POST',
      path: '/runs/{run}/updates/{name}',
      scope: 'operate',
      success: 200,
      key: 'messageId',
      tool: 'act',
    },
    about: 'Send an update to a run and wait for its answer.',
  },
  'runs.trigger': {
    ...{ method: 'POST', path: '/runs/{run}/trigger', scope: 'operate', success: 202 },
    about: 'Start a pending run, with another input if one is given.',
  },
  // ── Runs: operate ──
  'runs.cancel': {
    ...{ method: 'POST', path: '/runs/{run}/cancel', scope: 'operate', success: 202, tool: 'act', dangerous: true },
    about: 'Ask a run and its children to stop; their code can clean up.',
  },
  'runs.terminate': {
    ...{ method: 'POST', path: '/runs/{run}/terminate', scope: 'operate', success: 202, tool: 'act', dangerous: true },
    about: 'End a run and its children at once, without running their code.',
  },
  'runs.pause': {
    ...{ method: 'POST', path: '/runs/{run}/pause', scope: 'operate', success: 202, tool: 'act' },
    about: 'Pause a run after its running steps finish.',
  },
  'runs.resume': {
    ...{ method: 'POST', path: '/runs/{run}/resume', scope: 'operate', success: 202, tool: 'act' },
    about: 'Resume a paused run, if wanted with the result of a step given by hand.',
  },
  'runs.retry': {
    ...{ method: 'POST', path: '/runs/{run}/retry', scope: 'operate', success: 202, tool: 'act' },
    about: 'Retry a failed run from where it failed. Recorded steps do not run again.',
  },
  'runs.reset': {
    ...{ method: 'POST', path: '/runs/{run}/reset', scope: 'operate', success: 202, tool: 'act', dangerous: true },
    about: 'Reset a run to a step: it and everything after it runs again.',
  },
  'runs.fork': {
    ...{ method: 'POST', path: '/runs/{run}/fork', scope: 'operate', success: 201, tool: 'act' },
    about: 'Create a new run with the history of another one up to a step.',
  },
  'runs.migrate': {
    ...{ method: 'POST', path: '/runs/{run}/migrate', scope: 'operate', success: 202 },
    about: 'Move the run of a graph to another definition, with steps renamed or skipped.',
  },
  'runs.discard': {
    ...{ method: 'POST', path: '/runs/{run}/discard', scope: 'operate', success: 202, dangerous: true },
    about: 'Discard a message that no worker can read and that therefore pauses the run.',
  },
  // ── Answers from outside ──
  'completions.resolve': {
    ...{ method: 'POST', path: '/completions/resolve', scope: 'operate', success: 202 },
    about: 'Resolve a webhook, or complete a step, by its token.',
  },
  'completions.reject': {
    ...{ method: 'POST', path: '/completions/reject', scope: 'operate', success: 202 },
    about: 'Fail the wait for a webhook, or a step, by its token.',
  },
  // ── Batches ──
  'batches.preview': {
    ...{ method: 'POST', path: '/batches', scope: 'operate', success: 201 },
    about: 'List the runs that a batch would be done to, and keep the list. Nothing happens to them yet.',
  },
  'batches.list': {
    ...{ method: 'GET', path: '/batches', scope: 'read', success: 200 },
    about: 'List batches, newest first.',
  },
  'batches.get': {
    ...{ method: 'GET', path: '/batches/{batch}', scope: 'read', success: 200 },
    about: 'Show a batch, and how far it is.',
  },
  'batches.start': {
    ...{ method: 'POST', path: '/batches/{batch}/start', scope: 'operate', success: 202 },
    about: 'Start a batch that was previewed. Starting it again changes nothing.',
  },
  'batches.stop': {
    ...{ method: 'POST', path: '/batches/{batch}/stop', scope: 'operate', success: 202 },
    about: 'Stop a batch after the runs it is at.',
  },
  // ── Schedules ──
  'schedules.list': {
    ...{ method: 'GET', path: '/schedules', scope: 'read', success: 200, tool: 'read' },
    about: 'List schedules.',
  },
  'schedules.get': {
    ...{ method: 'GET', path: '/schedules/{schedule}', scope: 'read', success: 200, tool: 'read' },
    about: 'Show a schedule: its plan, its next slots and its newest runs.',
  },
  'schedules.set': {
    ...{ method: 'PUT', path: '/schedules/{schedule}', scope: 'operate', success: 204 },
    about: 'Create a schedule, or replace its timing and options.',
  },
  'schedules.update': {
    ...{ method: 'PATCH', path: '/schedules/{schedule}', scope: 'operate', success: 204 },
    about: 'Change some fields of a schedule; null removes a field.',
  },
  'schedules.delete': {
    ...{ method: 'DELETE', path: '/schedules/{schedule}', scope: 'operate', success: 204, dangerous: true },
    about: 'Delete a schedule. Its runs in progress continue.',
  },
  'schedules.pause': {
    ...{ method: 'POST', path: '/schedules/{schedule}/pause', scope: 'operate', success: 204 },
    about: 'Pause a schedule: it takes no slots until it is resumed.',
  },
  'schedules.resume': {
    ...{ method: 'POST', path: '/schedules/{schedule}/resume', scope: 'operate', success: 204 },
    about: 'Resume a schedule. Slots that were due during the pause are not made up.',
  },
  'schedules.trigger': {
    ...{ method: 'POST', path: '/schedules/{schedule}/trigger', scope: 'operate', success: 201, tool: 'act' },
    about: 'Start a run of a schedule now.',
  },
  'schedules.slots': {
    ...{ method: 'GET', path: '/schedules/{schedule}/slots', scope: 'read', success: 200 },
    about: 'List the slots of a schedule in a range of time: when it started or would have started runs.',
  },
  'schedules.backfill': {
    ...{ method: 'POST', path: '/schedules/{schedule}/backfill', scope: 'operate', success: 202 },
    about: 'Start a run for every slot of a schedule in a range of time.',
  },
  // ── Saved views ──
  'views.list': {
    ...{ method: 'GET', path: '/views', scope: 'read', success: 200 },
    about: 'List the saved views of runs.',
  },
  'views.set': {
    ...{ method: 'PUT', path: '/views/{view}', scope: 'operate', success: 204 },
    about: 'Save a view of runs for everyone who uses the store, or replace the one with this name.',
  },
  'views.delete': {
    ...{ method: 'DELETE', path: '/views/{view}', scope: 'operate', success: 204 },
    about: 'Delete a saved view.',
  },
  // ── Definitions and builds ──
  'workflows.list': {
    ...{ method: 'GET', path: '/workflows', scope: 'read', success: 200, tool: 'read' },
    about: 'List the workflows that living workers can run, with the JSON Schema of the input where it is known.',
  },
  'definitions.list': {
    ...{ method: 'GET', path: '/definitions', scope: 'read', success: 200, tool: 'read' },
    about: 'List the names of the definitions in the store that any worker can run.',
  },
  'definitions.get': {
    ...{ method: 'GET', path: '/definitions/{name}', scope: 'read', success: 200 },
    about: 'Show every version of a definition in the store, newest first.',
  },
  'definitions.submit': {
    ...{ method: 'POST', path: '/definitions', scope: 'operate', success: 201 },
    about: 'Store a graph document as a definition that any worker can run.',
  },
  'builds.list': {
    ...{ method: 'GET', path: '/builds', scope: 'read', success: 200 },
    about: 'List builds that keep the runs they started, and their shares of new runs.',
  },
  'builds.get': {
    ...{ method: 'GET', path: '/builds/{build}', scope: 'read', success: 200 },
    about: 'Tell whether a build is known: by its share, a living worker or a run in progress.',
  },
  'builds.rollOut': {
    ...{ method: 'PUT', path: '/builds/{build}/share', scope: 'admin', success: 204 },
    about: 'Give a build a share of new runs.',
  },
  'builds.checks': {
    ...{ method: 'GET', path: '/checks', scope: 'read', success: 200, tool: 'read' },
    about: 'List what the newest check of each build found: runs in progress that its code would not continue.',
  },
  'builds.retire': {
    ...{ method: 'POST', path: '/builds/{build}/retire', scope: 'admin', success: 204, dangerous: true },
    about: 'Retire a build: it starts no more runs, and other builds may continue its runs.',
  },
  // ── Retention ──
  'retention.get': {
    ...{ method: 'GET', path: '/retention', scope: 'read', success: 200, tool: 'read' },
    about: 'Show for how long runs are kept after they ended, and what was deleted so far.',
  },
  'retention.set': {
    ...{ method: 'PUT', path: '/retention', scope: 'admin', success: 204, dangerous: true },
    about: 'Set for how long runs are kept after they ended. Workers delete the others from now on.',
  },
  'retention.remove': {
    ...{ method: 'DELETE', path: '/retention', scope: 'admin', success: 204 },
    about: 'Keep all runs from now on.',
  },
  'retention.purge': {
    ...{ method: 'POST', path: '/purge', scope: 'admin', success: 200, dangerous: true },
    about: 'Delete runs that have ended, for some seconds; or count them. `next` says where another call goes on.',
  },
  // ── The server ──
  'workers.list': {
    ...{ method: 'GET', path: '/workers', scope: 'read', success: 200, tool: 'read' },
    about: 'List the workers that use the store, and what each can do.',
  },
  'queues.list': {
    ...{ method: 'GET', path: '/queues', scope: 'read', success: 200, tool: 'read' },
    about: 'List what waits for a worker, by queue: how much is due, and since when.',
  },
  'workers.work': {
    ...{ method: 'POST', path: '/work', scope: 'operate', success: 200 },
    about: 'Work in the process of the server until nothing is due or the time is up, then release everything.',
  },
  'health.get': {
    ...{ method: 'GET', path: '/health', scope: 'read', success: 200, tool: 'read' },
    about: 'Show whether the store answers, how many workers there are and how many runs are in progress.',
  },
  'audit.list': {
    ...{ method: 'GET', path: '/audit', scope: 'admin', success: 200 },
    about: 'List who changed what through a server, newest first.',
  },
  'tokens.list': {
    ...{ method: 'GET', path: '/tokens', scope: 'admin', success: 200 },
    about: 'List the tokens of the API, without their secrets.',
  },
  'tokens.create': {
    ...{ method: 'POST', path: '/tokens', scope: 'admin', success: 201 },
    about: 'Create a token. The answer has its text, which cannot be read again.',
  },
  'tokens.revoke': {
    ...{ method: 'DELETE', path: '/tokens/{token}', scope: 'admin', success: 204, dangerous: true },
    about: 'Revoke a token.',
  },
  'me.get': {
    method: 'GET',
    path: '/me',
    scope: 'read',
    success: 200,
    about: 'Show what the token of this request may do.',
  },
  'openapi.get': {
    ...{ method: 'GET', path: '/openapi.json', scope: 'none', success: 200 },
    about: 'Describe this API as an OpenAPI document.',
  },
} as const satisfies Readonly<Record<string, Route>>

export type OperationName = keyof typeof routes
/** Operations whose answer is one JSON value. */
export type CallName = { [N in OperationName]: (typeof routes)[N] extends { form: string } ? never : N }[OperationName]

/** The names in braces of a path. */
export function pathFields(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}
