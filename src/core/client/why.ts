// Why a run makes no progress, and what would help. The answer follows from stored data alone, without code or replay.

import { unreachable } from '../base/assert.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import { nearest } from '../base/nearest.ts'
import { pawlCommand, shellWord } from '../base/shell.ts'
import { NEVER } from '../base/time.ts'
import { quote, visible } from '../base/visible.ts'
import { firstUndone } from '../deciders/function/rewind.ts'
import { stepName } from '../deciders/requests.ts'
import { decodeFailure, decodeTurn } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { taskId } from '../kernel/ids.ts'
import { BY_HAND, TERMINATED } from '../kernel/message.ts'
import { type OpenRequest } from '../kernel/requests.ts'
import { RunState, type Status } from '../kernel/run.ts'
import { isWebhook, webhookName } from '../kernel/tokens.ts'
import { isFor, noRollOut, pinsOf, type RollOut, shareHolder, unpinned } from '../policies/roll-out.ts'
import {
  leftTo,
  MOVER,
  type RunSnapshot,
  type SessionSnapshot,
  type StoredTurn,
  type TaskSnapshot,
} from '../stores/store.ts'
import { type Abilities, abilitiesOf } from './workers.ts'

/** Why a run makes no progress: `reason` says which kind, `suggestion` what would help. */
export type Why = { readonly suggestion?: string } & (
  | { readonly reason: 'ended'; readonly status: Status; readonly failure?: Failure }
  | { readonly reason: 'ready' }
  /** The run waits to be triggered. */
  | { readonly reason: 'pending' }
  | { readonly reason: 'timer'; readonly until: Date }
  | { readonly reason: 'signal'; readonly name: string; readonly until?: Date }
  | { readonly reason: 'condition'; readonly until?: Date }
  | { readonly reason: 'child'; readonly runId: string }
  | {
      readonly reason: 'activity'
      readonly step: string
      readonly attempt: number
      readonly worker?: string
      /** If the worker is dead, another takes over then. */
      readonly until?: Date
    }
  | {
      readonly reason: 'backoff'
      readonly step: string
      readonly until: Date
      readonly failure: Failure
    }
  /** The body of the step left its result to be delivered from outside. */
  | { readonly reason: 'completion'; readonly step: string; readonly until?: Date }
  /** The run is on its way to another store. */
  | { readonly reason: 'moving' }
  | { readonly reason: 'lease'; readonly worker: string; readonly until: Date }
  | {
      readonly reason: 'noWorker'
      readonly type: string
      /** The only build whose workers take the run: it started the run, or has the share that the run falls into. */
      readonly build?: string
    }
  | { readonly reason: 'webhook'; readonly name: string; readonly until?: Date }
  | {
      readonly reason: 'paused'
      readonly note?: string
      readonly failure?: Failure
      /** The message that no worker could read, if that is why the run was paused. */
      readonly messageId?: string
    }
)

export interface WhyFacts {
  readonly run: RunSnapshot
  /** The id that the caller used for the run; suggested commands use it, too. */
  readonly id: string
  readonly turns: readonly StoredTurn[]
  readonly tasks: readonly TaskSnapshot[]
  readonly sessions: readonly SessionSnapshot[]
  /** True if the definition is in the store, so that any worker can run it. */
  readonly submitted: boolean
  readonly rollOut: RollOut
}

type Paused = NonNullable<RunSnapshot['paused']>

/** Used for a run that waits for something: the answer needs no facts beyond the run. */
export const nothingKnown = { submitted: false, rollOut: noRollOut } as const

/** True if the run is due and no worker holds it. */
export function isUnclaimed(run: RunSnapshot): boolean {
  if (run.endedAt !== undefined || run.paused || run.session !== undefined) return false
  return run.unread > 0 || (run.wakeAt !== undefined && run.wakeAt <= run.now)
}

export function whyOf(facts: WhyFacts): Why {
  const { run, id } = facts
  if (run.endedAt !== undefined) return ended(facts)
  if (run.session === MOVER) return { reason: 'moving', suggestion: MOVE_AGAIN }
  if (run.paused) return paused(id, run.paused, run.pin)
  const state = RunState.of(facts.turns.flatMap((turn) => decodeTurn(turn.body).events))
  if (run.session !== undefined) return held(facts, state)
  // Of the messages that no worker has taken yet, only a trigger or an end makes a pending run due.
  const isDue = run.wakeAt !== undefined && run.wakeAt <= run.now
  if (decodeExtras(run.head.extras).pending && !state.triggered && !isDue)
    return { reason: 'pending', suggestion: pawlCommand('trigger', [id]) }
  // Messages do not make the run start any earlier.
  if (run.status === 'pending' && run.wakeAt !== undefined && run.wakeAt > run.now)
    return { reason: 'timer', until: new Date(run.wakeAt) }
  if (isUnclaimed(run)) return unclaimed(facts)
  return waiting(facts, state)
}

const MOVE_AGAIN =
  'It is held for a move to another store. If that move was interrupted, repeat its command, or add --abort to end it.'

function ended({ run: { status, reason }, id, turns }: WhyFacts): Why {
  if (status === 'moved') return { reason: 'ended', status, suggestion: `It goes on in ${leftTo(reason)}` }
  if (status !== 'failed') return { reason: 'ended', status }
  const look = `See what happened: ${pawlCommand('run', [id])}`
  try {
    const events = turns.flatMap((turn) => decodeTurn(turn.body).events)
    const last = events.at(-1)
    if (last?.type !== 'RunFailed') return { reason: 'ended', status }
    const { failure } = last
    const suggestion = failure.type === TERMINATED ? look : `${look}\n${again(id, failure, events)}`
    return { reason: 'ended', status, failure, suggestion }
  } catch (error) {
    // This process lacks a codec.
    return { reason: 'ended', status, failure: failureOf(error), suggestion: look }
  }
}

function again(id: string, failure: Failure, events: readonly Event[]): string {
  const undone = firstUndone(events)
  if (undone !== undefined)
    return `Its saga has undone its steps, so it cannot be retried. Run them again: ${pawlCommand('reset', [id, undone])}`
  const retry = pawlCommand('retry', [id])
  const { type, message } = failure.cause ?? failure
  const last = events.findLast((event) => event.type === 'StepFailed' && event.failure.message === message)
  if (last?.type !== 'StepFailed' || last.attempt > 1 || type !== 'WorkerDied')
    return `Resume it from the step that failed: ${retry}`
  const fork = pawlCommand('fork', [id, last.key], { placeholder: `--result ${shellWord(`${last.key}=<JSON>`)}` })
  return `Find out first whether step ${quote(stepName(last.key))} was done: its worker died in its only attempt, and a retry runs it again.
If it was done, continue with its result: ${fork}
If not, resume it from that step: ${retry}`
}

function paused(id: string, { build, failure: text }: Paused, pin: string | undefined): Why {
  const failure = readFailure(text)
  const resume = pawlCommand('resume', [id])
  if (build === '') return { reason: 'paused', note: failure.message, suggestion: resume }
  const messageId = unreadableMessageIn(failure)
  const suggestion = wayOut(id, failure, pin, messageId)
  return { reason: 'paused', failure, ...(messageId !== undefined && { messageId }), suggestion }
}

function wayOut(id: string, { code }: Failure, pin: string | undefined, messageId: string | undefined): string {
  const resume = pawlCommand('resume', [id])
  if (code === 'WORKFLOW_NOT_FOUND') {
    const terminate = pawlCommand('terminate', [id], { placeholder: "--reason '<why>'" })
    return `Submit what is missing, then resume the run: ${resume}\nOr end it: ${terminate}`
  }
  if (code?.startsWith('CODEC_') || messageId !== undefined) {
    const missing = code === 'SCHEMA_TOO_NEW' ? 'the newer pawl' : 'the codecs and keys that are missing'
    const drop =
      messageId === undefined
        ? ''
        : `\nOr drop the message, and lose what it said: ${pawlCommand('discard', [id, messageId])}`
    return `Start a worker with ${missing}: it tries again by itself. To let any worker try again: ${resume}${drop}`
  }
  if (pin === undefined) {
    return 'Fix the code as the failure says and start a worker with it: another build tries again.'
  }
  const retire = pawlCommand('builds', ['retire', pin])
  return `Fix the code as the failure says, start a worker with it, and let it take the runs of build ${quote(pin)}: ${retire}`
}

/** The id of the message that a run was paused for, because no worker could read it. */
export function unreadableMessageIn({ details }: Failure): string | undefined {
  const { unreadableMessage: id } = (details ?? {}) as { readonly unreadableMessage?: unknown }
  return typeof id === 'string' ? id : undefined
}

/** The failure as stored; if this process cannot read it, the failure to read it. */
export function readFailure(text: string): Failure {
  try {
    return decodeFailure(text)
  } catch (error) {
    return failureOf(error)
  }
}

/** A worker holds the run: a step is running, or the run is in memory for a moment. */
function held(facts: WhyFacts, state: RunState): Why {
  const { run, sessions } = facts
  const session = sessions.find((each) => each.session === run.session)
  const worker = session?.worker ?? 'a worker that is gone'
  const until = new Date(session?.expiresAt ?? run.now)
  const alive = session !== undefined && session.expiresAt > run.now
  if (!alive) {
    const next = sessions.find((each) => {
      const about = living(each, run.now)
      return about && hasCode(facts)(about) && isTheirs(facts, about)
    })
    const how = next
      ? `worker ${visible(next.worker)} takes over soon, once it has seen for two thirds of the lease that no renewal comes.`
      : `any worker for ${quote(run.head.name)} takes over. Start one: ${pawlCommand('worker', [], { placeholder: '<file.ts>' })}`
    const suggestion = `The lease of ${visible(worker)} has ended; ${how}`
    return { reason: 'lease', worker, until, suggestion }
  }
  const suggestion = `If worker ${visible(worker)} is dead, another takes over at ${until.toISOString()}.`
  for (const [key, open] of state.open) {
    if (open.type !== 'step' || open.queued) continue
    if (open.retryAt !== undefined && open.retryAt > run.now) return backoff(facts, key, open)
    // An attempt that a dead holder cut off is counted in `failed` before the next one begins.
    const attempt = open.failed + 1
    return { reason: 'activity', step: key, attempt, worker, until, suggestion }
  }
  return { reason: 'lease', worker, until, suggestion }
}

function unclaimed(facts: WhyFacts): Why {
  const { run, sessions } = facts
  const { name, queue } = run.head
  const able = sessions.flatMap((session) => living(session, run.now) ?? []).filter(hasCode(facts))
  if (able.some((about) => isTheirs(facts, about))) return { reason: 'ready' }
  if (run.pin === undefined && able.length > 0) return outOfShare(facts)
  return noWorker(facts, { name, queue, kind: 'workflows' }, run.pin)
}

function hasCode({ run, submitted }: WhyFacts): (about: Abilities) => boolean {
  const { name, queue } = run.head
  return ({ queues, workflows }) => queues.includes(queue) && (submitted || (workflows?.includes(name) ?? true))
}

function isTheirs({ run, rollOut }: WhyFacts, { pin, code = '' }: Abilities): boolean {
  const pins = pin ? pinsOf(rollOut, code) : unpinned(rollOut, code)
  if (pins) return isFor(pins, run.head.runId, run.pin)
  return run.pin === undefined || run.pin === code
}

/** Workers with the code exist, but the roll-out gives the run to another build. */
function outOfShare({ run, rollOut }: WhyFacts): Why {
  const { name: type, runId } = run.head
  const build = shareHolder(rollOut, runId)
  if (build === undefined) {
    const suggestion = `The roll-out leaves this run to builds that were neither named nor retired, and no such worker is alive. Start one, or give a build all runs: ${pawlCommand('builds', ['roll-out'], { placeholder: "'<build>' 100" })}`
    return { reason: 'noWorker', type, suggestion }
  }
  const take = pawlCommand('builds', ['roll-out', build, '0'])
  const suggestion = `The roll-out gives this run to build ${quote(build)}, which has no living worker. Start one of it, or take its share back: ${take}`
  return { reason: 'noWorker', type, build, suggestion }
}

function waiting(facts: WhyFacts, state: RunState): Why {
  const open = [...state.open]
  const found =
    pick(open, 'step', (key, each) => stepReason(facts, key, each)) ??
    pick(open, 'child', (_, { child, onClose }) =>
      onClose === 'abandon' ? undefined : { reason: 'child', runId: child },
    ) ??
    pick(open, 'wait', (_, each) =>
      each.condition || isWebhook(each.name)
        ? otherWait(each)
        : {
            reason: 'signal',
            name: each.name,
            ...(each.until !== undefined && { until: new Date(each.until) }),
            suggestion: signalCommand(facts.id, each.name),
          },
    ) ??
    pick(open, 'timer', (_, each) => ({ reason: 'timer', until: new Date(each.until) })) ??
    // A child that outlives its parent is hardly ever waited for.
    pick(open, 'child', (_, { child }) => ({ reason: 'child', runId: child })) ??
    anySignal(facts)
  return found ?? { reason: 'ready' }
}

/** A machine accepts its signals at any time, so it has no open wait to report. */
function anySignal({ id, turns }: WhyFacts): Why | undefined {
  const events = turns.flatMap((turn) => decodeTurn(turn.body).events)
  const taken = events.findLast((event) => event.type === 'DefinitionTaken')
  const names = (taken?.steps ?? []).flatMap(([, what]) => /^signal:(.*)$/.exec(what)?.[1] ?? [])
  const [name, ...others] = names
  if (name === undefined) return undefined
  const also = others.length > 0 ? `It also takes ${others.map(quote).join(', ')}: ` : ''
  return { reason: 'signal', name, suggestion: `${also}${signalCommand(id, name)}` }
}

function signalCommand(id: string, name: string): string {
  return pawlCommand('signal', [id, name], { placeholder: "'<payload as JSON>'" })
}

function otherWait({ name, until: at }: Extract<OpenRequest, { type: 'wait' }>): Why {
  const until = at === undefined ? {} : { until: new Date(at) }
  if (isWebhook(name)) {
    const suggestion = 'Deliver the payload with the token of the webhook: engine.resolve(token, payload).'
    return { reason: 'webhook', name: webhookName(name), ...until, suggestion }
  }
  return {
    reason: 'condition',
    ...until,
    suggestion:
      'The code waits for something it looks at itself; a message that one of its handlers takes may make it true.',
  }
}

function stepReason(facts: WhyFacts, key: string, open: Extract<OpenRequest, { type: 'step' }>): Why {
  if (!open.queued) return backoff(facts, key, open)
  const { run, tasks, sessions } = facts
  const id = taskId(run.head, key)
  const task = tasks.find((each) => each.taskId === id)
  if (!task) return { reason: 'ready' }
  const holder = sessions.find((each) => each.session === task.session)
  if (holder) {
    // Attempts from before the step was queued count, too.
    const attempt = Math.max(task.failed, open.failed) + task.deliveries
    const until = new Date(holder.expiresAt)
    return { reason: 'activity', step: key, attempt, worker: holder.worker, until }
  }
  if (task.availableAt > run.now && task.failure !== undefined) {
    const failure = readFailure(task.failure)
    return { reason: 'backoff', step: key, until: new Date(task.availableAt), failure, ...stuck(facts, key) }
  }
  const able = sessions.some((each) => {
    const about = living(each, run.now)
    return about?.queues.includes(task.queue) && (about.activities?.includes(task.name) ?? true)
  })
  const missing = { name: task.name, queue: task.queue, kind: 'activities' } as const
  return able ? { reason: 'ready' } : noWorker(facts, missing)
}

/** A compensation that keeps failing keeps its run from ending. */
const stuck = ({ run, id }: WhyFacts, key: string): { readonly suggestion?: string } =>
  run.status === 'compensating'
    ? { suggestion: `If it cannot succeed, settle it by hand: ${settleCommand(id, key)}` }
    : {}

const settleCommand = (id: string, key: string): string =>
  pawlCommand('resume', [id], { options: { step: key }, placeholder: "--result '<JSON>' --note '<why>'" })

function backoff(facts: WhyFacts, key: string, open: Extract<OpenRequest, { type: 'step' }>): Why {
  const { failure, retryAt, left } = open
  if (left) {
    const until = retryAt === undefined || retryAt >= NEVER ? {} : { until: new Date(retryAt) }
    const suggestion = `Complete it with its token: engine.resolve(token, value), or ${pawlCommand('resolve', [], { placeholder: "<token> '<JSON>'" })}. Or by hand: ${settleCommand(facts.id, key)}`
    return { reason: 'completion', step: key, ...until, suggestion }
  }
  if (!failure || retryAt === undefined) return { reason: 'ready' }
  return { reason: 'backoff', step: key, until: new Date(retryAt), failure, ...stuck(facts, key) }
}

interface Missing {
  readonly name: string
  readonly queue: string
  readonly kind: 'workflows' | 'activities'
}

function noWorker(facts: WhyFacts, { name: type, queue, kind }: Missing, build?: string): Why {
  const missing = `No living worker has code for ${quote(type)} on queue ${quote(queue)}`
  if (build === undefined) {
    const serving = queue === 'default' ? '' : ` --queue ${shellWord(queue)}`
    const known = facts.sessions.flatMap((each) => living(each, facts.run.now)?.[kind] ?? [])
    const near = known.includes(type) ? undefined : nearest(type, known)
    const meant = near === undefined ? '' : `; did you mean ${quote(near)}?`
    const elsewhere = otherQueues(facts, type, kind)
    const suggestion = `${missing}${meant || '.'}${elsewhere} Start one: ${pawlCommand('worker', [], { placeholder: '<file.ts>' })}${serving}`
    return { reason: 'noWorker', type, suggestion }
  }
  const retire = pawlCommand('builds', ['retire', build])
  const suggestion = `${missing} and is of build ${quote(build)}, which keeps this run. Start one of it, or let others go on: ${retire}`
  return { reason: 'noWorker', type, build, suggestion }
}

/** The other queues in which workers serve this name: a caller who starts a run by name alone may get the queue wrong. */
function otherQueues({ sessions, run }: WhyFacts, name: string, kind: Missing['kind']): string {
  const able = sessions.flatMap((each) => living(each, run.now) ?? [])
  const queues = able.flatMap((about) => (about[kind]?.includes(name) ? about.queues : []))
  const others = [...new Set(queues)].filter((queue) => !queue.startsWith('pawl.'))
  if (others.length === 0) return ''
  const option = kind === 'workflows' ? ' If it belongs there, start it with --queue.' : ''
  return ` Workers on queue ${others.map(quote).join(', ')} have it.${option}`
}

/** What the worker of a session can do; undefined if its lease is over. */
function living(session: SessionSnapshot, now: number): Abilities | undefined {
  return session.expiresAt > now ? abilitiesOf(session) : undefined
}

function pick<T extends OpenRequest['type']>(
  open: readonly (readonly [string, OpenRequest])[],
  type: T,
  reason: (key: string, each: Extract<OpenRequest, { type: T }>) => Why | undefined,
): Why | undefined {
  for (const [key, each] of open) {
    const found = each.type === type && reason(key, each as Extract<OpenRequest, { type: T }>)
    if (found) return found
  }
  return undefined
}

// The answer in one sentence.

/** How the reader is told times and failures. */
export interface Telling {
  readonly when: (time: Date) => string
  readonly failure: (failure: Failure) => string
}

const plainly: Telling = {
  when: (time) => time.toISOString(),
  failure: ({ type, message }) => `${type}: ${message}`,
}

export function whyText(why: Why, { when, failure }: Telling = plainly): string {
  const timesOut = (until?: Date): string => (until ? `; times out at ${when(until)}` : '')
  switch (why.reason) {
    case 'ended':
      return why.failure ? `Failed: ${failure(why.failure)}` : `Ended: ${why.status}.`
    case 'pending':
      return 'Waiting to be triggered.'
    case 'ready':
      return 'Ready: a living worker can take it at any moment.'
    case 'timer':
      return `Sleeping until ${when(why.until)}.`
    case 'signal':
      return `Waiting for signal '${why.name}'${timesOut(why.until)}.`
    case 'webhook':
      return `Waiting for webhook '${why.name}'${timesOut(why.until)}.`
    case 'condition':
      return `Waiting for a condition in its code${timesOut(why.until)}.`
    case 'child':
      return `Waiting for its child, run ${why.runId}.`
    case 'activity':
      return `Step '${stepName(why.step)}', attempt ${why.attempt}, is with ${workerOf(why.worker)}${why.until ? `, whose lease lasts until ${when(why.until)}` : ''}.`
    case 'backoff':
      return `Step '${stepName(why.step)}' failed (${failure(why.failure)}); the next attempt is at ${when(why.until)}.`
    case 'completion':
      return `Waiting for step '${stepName(why.step)}' to be completed from outside${timesOut(why.until)}.`
    case 'moving':
      return 'Held for its move to another store.'
    case 'lease':
      return `Held by ${workerOf(why.worker)}, whose lease lasts until ${when(why.until)}.`
    case 'noWorker':
      return `Waiting for a worker that has code for '${why.type}'${why.build === undefined ? '' : ` and is of build '${why.build}'`}.`
    case 'paused':
      if (why.note === BY_HAND) return 'Paused by hand.'
      if (why.note !== undefined) return `Paused by hand: ${why.note}`
      return `Paused${why.failure ? `: ${failure(why.failure)}` : '.'}`
    default:
      return unreachable(why)
  }
}

function workerOf(worker: string | undefined): string {
  if (worker === undefined) return 'no worker yet'
  return worker.startsWith('worker') || worker.startsWith('a ') ? worker : `worker ${worker}`
}
