// Every text of the UI that is not a value, an id or a command. One file, so that words can be checked and changed together.
import type { HistoryEvent, RunRecord, Why } from 'pawl/client'

export const text = {
  product: 'pawl',
  nav: { main: 'Main', runs: 'Runs', find: 'Find', more: 'More' },
  find: 'Find a run, a page, an action',
  skip: 'Skip to the content',
  theme: { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' },
  times: { utc: 'Times in UTC', local: 'Times of this place' },
  live: {
    open: 'Live',
    none: 'Not live',
    lost: (since: string) => `Connection lost, ${since}`,
  },
  problem: {
    title: 'This did not work',
    again: 'Try again',
    request: 'Code',
    asOf: (time: string) => `as of ${time}`,
  },
  copy: 'Copy',
  copied: 'Copied',
  close: 'Close',
  cancel: 'Back',
  signIn: {
    title: 'This server needs a token',
    about: 'It is kept in this tab until you close it, and sent only to this server.',
    token: 'Token',
    act: 'Sign in',
    how: 'Create one on the machine of the store:',
    command: 'pawl token create <name> --scope operate',
    out: 'Sign out',
    wrong: 'The server does not know this token, or it has expired or was revoked.',
  },
  runs: {
    title: 'Runs',
    columns: {
      status: 'Status',
      run: 'Run',
      workflow: 'Workflow',
      why: 'Why it waits, or how it ended',
      attributes: 'Attributes',
      updated: 'Updated',
      age: 'Age',
    },
    views: { all: 'All', progress: 'In progress', waiting: 'Waiting', paused: 'Paused', failed: 'Failed' },
    filter: 'Filter runs',
    placeholder: 'status: workflow: why: attr.region: or the beginning of an id',
    newer: (count: string) => `${count} newer`,
    select: (id: string) => `Select ${id}`,
    selectAll: 'Select all that are shown',
    shown: (count: string) => `${count} selected`,
    matching: (count: string) => `all ${count} that match`,
    more: 'Loading more runs',
    list: 'Runs, newest first',
    remove: (part: string) => `Remove ${part}`,
    empty: {
      title: 'No run has been started yet',
      about: 'Start a worker with your workflows, then start a run:',
      command: 'npx pawl dev ./workflows.ts\nnpx pawl start order \'{"item":"book"}\'',
    },
    filtered: {
      title: 'No run matches this filter',
      about: 'Remove a part of it:',
    },
    needs: 'Runs that need a person',
  },
  bulk: {
    title: (verb: string, count: string) => `${verb} ${count}?`,
    reason: 'Reason, for the histories of the runs',
    preview: 'Show which runs',
    exactly: 'Exactly these runs are kept for this batch. Runs that start later are not touched.',
    byStatus: 'By status',
    byWorkflow: 'By workflow',
    first: 'The first of them',
    type: (count: string) => `Type ${count} to confirm`,
    progress: (done: string, all: string) => `${done} of ${all} done`,
    refused: (count: string) => `${count} refused`,
    stop: 'Stop',
    limit: 'At most 25,000 runs at once.',
  },
  verbs: {
    cancel: 'Cancel',
    terminate: 'Terminate',
    pause: 'Pause',
    resume: 'Resume',
    retry: 'Retry',
    reset: 'Reset',
    fork: 'Fork',
    signal: 'Signal',
    trigger: 'Trigger',
    complete: 'Complete by hand',
    migrate: 'Migrate',
    discard: 'Discard a message',
  },
  run: {
    tabs: {
      timeline: 'Timeline',
      graph: 'Graph',
      steps: 'Steps',
      history: 'History',
      values: 'Input and result',
      children: 'Children',
      compare: 'Compare',
    },
    views: 'Views of the run',
    why: 'Why it makes no progress',
    started: 'started',
    ago: 'ago',
    queue: 'queue',
    generation: 'generation',
    took: 'took',
    parent: 'parent',
    more: 'More operations',
    send: 'Send signal',
    payload: 'Payload, as JSON',
    command: 'The same in a terminal',
    asked: (time: string) => `asked ${time}`,
    fold: 'Fold idle time',
    now: 'now',
    idle: (length: string) => `${length} in which nothing ran, folded`,
    latest: 'Latest events',
    allEvents: 'All in History',
    noSteps: 'No step has started yet.',
    toCome: 'Steps to come',
    noChildren: 'This run has started no children.',
    noInput: 'The run has no input.',
    input: 'Input',
    result: 'Result',
    failure: 'Failure',
    memo: 'Memo',
    attributes: 'Attributes',
    attempts: 'Attempts',
    raw: 'Raw',
    tree: 'Tree',
    event: 'Event',
    forkHere: 'Fork from here…',
    resetHere: 'Reset to here…',
    compensation: 'Failures of compensations',
    unreadable: 'This server cannot read some values of the run',
  },
  operate: {
    pause: 'It stops making progress after its running steps finish, until somebody resumes it.',
    resume: 'It makes progress again from where it was paused.',
    cancel: 'It and its children are asked to stop; their code can clean up.',
    terminate: 'It and its children end at once. No code of theirs runs, so nothing is cleaned up.',
    retry: 'It continues from where it failed, in a new generation. Recorded steps do not run again.',
    reset: 'The step and everything after it runs again, in a new generation. Effects outside happen once more.',
    fork: 'A new run begins with the history up to the step. The step and everything after it runs in the new run.',
    signal: 'The run gets the signal as soon as a worker takes it.',
    trigger: 'The run starts.',
    complete: 'The step counts as done with this result; its body does not run again. The note stays in the history.',
    migrate: 'The run of the graph goes on with another definition. Steps can be renamed, or skipped with null.',
    discard: 'Drops a message that no worker can read and that therefore pauses the run. Its payload is lost.',
    result: 'Result, as JSON',
    hash: 'Hash of the definition',
    names: 'New names of steps by their old names, as JSON; empty: they have the same names',
    message: 'Id of the message, as the reason above names it',
    step: 'Step',
    name: 'Name of the signal',
    note: 'Note, for those who resume it',
    reason: 'Reason',
    typeOne: 'Type 1 to confirm',
    done: { pause: 'Pause requested', resume: 'Resumed', cancel: 'Cancellation requested', terminate: 'Terminated' },
    sent: 'Signal sent',
    accepted: (verb: string) => `${verb} accepted`,
    forked: 'Forked',
    open: 'Open it',
    scope: (scope: string, needed: string) => `Your token has the scope ${scope}; this needs ${needed}.`,
    curl: 'As curl',
    cli: 'As a command',
  },
  keys: {
    title: 'Keys',
    single: 'Single keys',
    list: [
      ['⌘K', 'find a run, a page, an action'],
      ['g o', 'overview'],
      ['g r', 'runs'],
      ['g n', 'start a run'],
      ['g s', 'schedules'],
      ['g w', 'workers and queues'],
      ['g d', 'definitions'],
      ['g b', 'builds'],
      ['g h', 'health'],
      ['g a', 'audit trail'],
      ['/', 'filter'],
      ['j k', 'next and previous row'],
      ['⏎', 'open'],
      ['x', 'select the row'],
      ['*', 'select all that match'],
      ['.', 'show newer runs'],
      ['1 … 7', 'tabs of a run'],
      ['← →', 'one event back or forward'],
      ['[ ]', 'previous and next step'],
      ['s', 'signal'],
      ['p', 'pause or resume'],
      ['f', 'fork'],
      ['y', 'copy the link'],
      ['t', 'UTC or local times'],
      ['?', 'these keys'],
      ['Esc', 'close, then clear, then go up'],
    ],
  },
} as const

/** What a run waits for, or why it is paused, from the reason code that the list has. */
export function waitingText(waitingFor: string): string {
  const at = waitingFor.indexOf(':')
  const [kind, name] = at < 0 ? [waitingFor, ''] : [waitingFor.slice(0, at), waitingFor.slice(at + 1)]
  switch (kind) {
    case 'signal':
      return `Waits for the signal ${name}`
    case 'webhook':
      return `Waits for the webhook ${name}`
    case 'timer':
      return 'Sleeps'
    case 'child':
      return `Waits for its child ${name}`
    case 'condition':
      return 'Waits for a condition in its code'
    case 'completion':
      return `Waits for ${name} to be completed from outside`
    case 'backoff':
      return `${name} failed and will be tried again`
    case 'activity':
      return `${name} is a task for any worker`
    default:
      return waitingFor
  }
}

/** The one place that turns a reason into a sentence. */
export function whyText(why: Why): string {
  switch (why.reason) {
    case 'ended':
      return why.failure ? `It failed: ${failureText(why.failure)}` : `It ${endedVerb(why.status)}`
    case 'ready':
      return 'It is due: a worker takes it in a moment'
    case 'pending':
      return 'It waits to be triggered'
    case 'timer':
      return 'It sleeps'
    case 'signal':
      return `It waits for the signal ${why.name}`
    case 'webhook':
      return `It waits for the webhook ${why.name}`
    case 'condition':
      return 'It waits for a condition in its code'
    case 'child':
      return 'It waits for a child'
    case 'activity':
      return `${stepLabel(why.step)} is with ${why.worker ?? 'no worker yet'}, attempt ${why.attempt}`
    case 'backoff':
      return `${stepLabel(why.step)} failed and will be tried again`
    case 'completion':
      return `It waits for ${stepLabel(why.step)} to be completed from outside`
    case 'moving':
      return 'It is held for its move to another store'
    case 'lease':
      return `${why.worker} is working on it`
    case 'noWorker':
      return `No living worker has code for ${why.type}${why.build === undefined ? '' : ` of build ${why.build}`}`
    case 'paused':
      return why.failure ? 'It is paused: its code does not fit, or could not continue' : 'It is paused by hand'
    default:
      return 'It makes no progress'
  }
}

interface Told {
  readonly type: string
  readonly message: string
  readonly cause?: Told
}

/** A step that failed makes its run fail: what went wrong is said by the failure of the step. */
export function failureText(failure: Told): string {
  return failure.cause ? failureText(failure.cause) : `${failure.type}: ${failure.message}`
}

function endedVerb(status: RunRecord['status']): string {
  return status === 'cancelled' ? 'was cancelled' : status
}

/** The name in a step key: `charge` of `activity:charge#1`, `undo charge` of `undo:charge#1`, `x` of `[x]`. */
export function stepLabel(key: string): string {
  const places = key
    .split('/')
    .filter((place, at, all) => at === all.length - 1 || !/^(?:saga|shield)#\d+$/.test(place))
  const last = places.pop() ?? key
  const [, kind, name, occurrence = '1', item] = /^(\w+):(.+)#(\d+)(?:\[(\d+)\])?$/.exec(last) ?? []
  const plain = (name ?? last).replace(/^\[(.*)\]$/, '$1')
  const shown = `${kind === 'undo' ? 'undo ' : ''}${plain}${occurrence === '1' ? '' : ` #${occurrence}`}`
  return [...places, item === undefined ? shown : `${shown} [${item}]`].join('/')
}

type Sentences = { readonly [T in HistoryEvent['type']]?: (event: Extract<HistoryEvent, { type: T }>) => string }

const sentences: Sentences = {
  RunStarted: ({ name }) => `the run of ${name} was started`,
  StepStarted: ({ name }) => `${name} was requested`,
  StepBegun: ({ step }) => `${stepLabel(step)} begins`,
  StepQueued: ({ step, attempt }) => `${stepLabel(step)} becomes a task, attempt ${attempt}`,
  StepRetried: ({ step, attempt, failure, leftOpen }) =>
    leftOpen
      ? `${stepLabel(step)} waits to be completed from outside`
      : `${stepLabel(step)} attempt ${attempt} failed: ${failure.message}`,
  StepCompleted: ({ step, attempt, byHand }) =>
    `${stepLabel(step)} is done${byHand === undefined ? '' : ' by hand'}${attempt > 1 ? `, at attempt ${attempt}` : ''}`,
  StepFailed: ({ step, failure }) => `${stepLabel(step)} failed: ${failure.message}`,
  TimerStarted: ({ step, until }) => `${stepLabel(step)} sleeps until ${until.toISOString()}`,
  TimerFired: ({ step }) => `${stepLabel(step)}: its time has come`,
  WaitStarted: ({ name, condition }) => (condition ? 'waits for a condition' : `waits for ${name}`),
  ChildStarted: ({ name }) => `child ${name} is started`,
  ChildCompleted: ({ step }) => `child ${stepLabel(step)} completed`,
  ChildFailed: ({ step, failure }) => `child ${stepLabel(step)} failed: ${failure.message}`,
  CalledOff: ({ steps }) => `cancels ${steps.map(stepLabel).join(', ')}`,
  MessageSent: ({ message, name }) => `sends ${message}${name === undefined ? '' : ` ${name}`} to another run`,
  SignalReceived: ({ name }) => `receives the signal ${name}`,
  UpdateReceived: ({ name }) => `receives the update ${name}`,
  UpdateAccepted: () => 'accepts the update',
  UpdateCompleted: () => 'answers the update',
  UpdateFailed: ({ failure, rejected }) => `${rejected ? 'rejects' : 'fails'} the update: ${failure.message}`,
  TokenMade: () => 'makes the token of a webhook',
  CancelRequested: ({ reason }) => `cancellation was requested${reason === undefined ? '' : `: ${reason}`}`,
  PauseRequested: ({ note }) => `a pause was requested${note === undefined ? '' : `: ${note}`}`,
  ResumeRequested: () => 'was resumed',
  RunTriggered: () => 'was triggered',
  MigrationRequested: ({ definitionHash }) => `a migration to ${definitionHash.slice(0, 8)} was requested`,
  MessageDiscarded: () => 'a message was discarded',
  AttributesSet: ({ attributes }) => `sets ${Object.keys(attributes).join(', ')}`,
  Patched: ({ id }) => `reaches the patch ${id}`,
  CompensationBegan: () => 'begins to compensate',
  CompensationEnded: () => 'has compensated',
  DefinitionTaken: ({ definitionHash }) => `follows definition ${definitionHash.slice(0, 8)}`,
  StepSkipped: ({ step }) => `${stepLabel(step)} is skipped`,
  StepRefused: ({ step, failure }) => `${stepLabel(step)} could not be prepared: ${failure.message}`,
  ListTaken: ({ step }) => `takes the list of ${stepLabel(step)}`,
  StateMoved: ({ by }) => `handled event ${by}`,
  RunCompleted: () => 'the run completed',
  RunFailed: ({ failure }) => `the run failed: ${failureText(failure)}`,
  RunCancelled: ({ reason }) => `the run was cancelled${reason === undefined ? '' : `: ${reason}`}`,
  RunContinued: () => 'continues as a new generation',
  GenerationBegan: ({ reason }) => `generation begins: ${reason}`,
}

/** An event as a sentence. */
export function eventText(event: HistoryEvent): string {
  const sentence = sentences[event.type] as ((each: HistoryEvent) => string) | undefined
  return sentence?.(event) ?? event.type
}
