// What a worker does for the runs it holds: the calls of a held run, bound to the worker's ports.

import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Receiver, SendMessage } from '../kernel/command.ts'
import type { Execution } from '../kernel/decider.ts'
import { taskId } from '../kernel/derived-ids.ts'
import { leftUndone } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { TERMINATED } from '../kernel/message.ts'
import type { Head } from '../kernel/run.ts'
import { sleep } from '../runtime/clock.ts'
import { secret } from '../runtime/random.ts'
import type { Committed, HistoryPage, Store, StoredHead, TurnCommit } from '../stores/store.ts'
import { announceEvents } from './announce.ts'
import type { RunHost } from './host.ts'
import type { Slots } from './slots.ts'
import { CANCELLED } from './step-notes.ts'
import type { StepRunner } from './step-runner.ts'
import type { StoreClock } from './store-clock.ts'
import { pins, type WorkerPorts, type WorkerSettings } from './worker-settings.ts'

export interface HostParts {
  readonly ports: WorkerPorts
  readonly settings: WorkerSettings
  readonly storeClock: StoreClock
  readonly slots: Slots
  readonly runner: StepRunner
  readonly decider: RunHost['decider']
  /** Whether the session still gives the right to begin anything. */
  readonly mayWork: () => boolean
  /** Tells a task that is held here that it was cancelled. */
  readonly cancelTask: (taskId: string) => void
  /** Sends to the store until it answers. */
  readonly send: <T>(call: (store: Store) => Promise<T>) => Promise<T>
}

export function runHost(parts: HostParts): RunHost {
  const { ports, settings, storeClock, slots, runner, send } = parts
  const { clock, random, registry } = ports
  return {
    build: settings.build,
    alwaysReplay: settings.alwaysReplay,
    strict: settings.strict,
    decider: parts.decider,
    pinOf: ({ name }) => (pins(settings, registry, name) ? settings.code : undefined),
    now: () => storeClock.now(),
    after: (ms, fire) => clock.after(ms, fire),
    breathe: () => clock.breathe(),
    turnId: () => random.integer(),
    history: (head, after) => history(send, head, after),
    waitingTasks: (runId) => waitingTasks(send, runId),
    cancelTasks: (head, keys) => cancelTasks(parts, head, keys),
    receiver: (to) => receiver(send, to),
    secret: () => secret(random),
    commit: (turn) => commit(parts, turn),
    serves: placement(parts),
    hasRoom: () => slots.free > 0,
    begin: (head, key, step, plan, attempt, recorded) =>
      parts.mayWork() ? runner.local(head, key, step, plan, attempt, recorded) : undefined,
    announce: (head, events) => harmless(() => announce(ports, head, events)),
    paused: (head, failure) => harmless(() => paused(ports, head, failure)),
    suspended: (head) => harmless(() => suspended(ports, head)),
    log: (head, execution) => harmless(() => log(ports, head, execution)),
    warn: (head, message) => harmless(() => warn(ports, head, message)),
  }
}

// A worker of the queue without the code may be meant so; most of the time somebody forgot it. Told once for each name.
function placement({ ports, settings }: HostParts): RunHost['serves'] {
  const told = new Set<string>()
  return (activity, plan, head) => {
    const queue = plan.queue ?? head.queue
    if (!settings.queues.includes(queue)) return false
    if (ports.registry.activity(activity) !== undefined) return true
    if (!told.has(activity)) {
      const text = `activity '${activity}' waits for another worker: this one serves queue '${queue}', and was not given its code`
      harmless(() => warn(ports, head, text))
    }
    told.add(activity)
    return false
  }
}

// A turn that is stamped ahead of the store's clock is right, and only early: the lease and all that runs under it are
// kept, and the same turn is sent again until its time has come.
async function commit({ ports, send, mayWork }: HostParts, turn: TurnCommit): Promise<Committed> {
  for (let told = false; ; told = true) {
    const [committed = { outcome: 'fenced' } as const] = await send((store) => store.commit([turn]))
    // More to look at, and nothing there: this is not the history the turn was decided on.
    if (committed.outcome === 'more' && committed.messages.length === 0)
      return { outcome: 'fenced' }
    if (committed.outcome !== 'ahead') return committed
    if (!told) {
      const behind = Math.round((turn.at - committed.now) / 1_000)
      const text = `the store's clock is ${behind} s behind run ${turn.runId}, which waits for it. Was the clock set back?`
      ports.logger.log('warn', text)
    }
    await sleep(ports.clock, limits.aheadRetryMs)
    if (!mayWork()) return { outcome: 'fenced' }
  }
}

// Whoever listens or logs is a guest: what they break is not the run.
function harmless(tell: () => void): void {
  try {
    tell()
  } catch {}
}

async function history(
  send: HostParts['send'],
  { runId, generation }: Pick<StoredHead, 'runId' | 'generation'>,
  after: number,
): Promise<HistoryPage> {
  const ask = { type: 'history', runId, generation, after, turns: limits.historyPageTurns } as const
  const [loaded] = await send((store) => store.load([ask]))
  return loaded?.type === 'history' ? loaded : { turns: [] }
}

async function receiver(
  send: HostParts['send'],
  to: SendMessage['to'],
): Promise<Receiver | undefined> {
  const runId = typeof to === 'string' ? to : await newestOf(send, to.workflowId)
  if (runId === undefined) return undefined
  const [loaded] = await send((store) => store.load([{ type: 'run', runId }]))
  const run = loaded?.type === 'run' ? loaded.run : undefined
  return { runId, hasEnded: run?.endedAt !== undefined }
}

async function newestOf(send: HostParts['send'], workflowId: string): Promise<string | undefined> {
  const [loaded] = await send((store) => store.load([{ type: 'named', workflowId }]))
  return loaded?.type === 'named' ? loaded.runId : undefined
}

async function waitingTasks(send: HostParts['send'], runId: string): Promise<ReadonlySet<string>> {
  const [loaded] = await send((store) => store.load([{ type: 'tasks', runId }]))
  const tasks = loaded?.type === 'tasks' ? loaded.tasks : []
  return new Set(
    tasks.flatMap(({ taskId, deliveries, failed }) => (deliveries + failed > 0 ? [] : [taskId])),
  )
}

async function cancelTasks(
  { send, cancelTask }: HostParts,
  head: Head,
  keys: readonly string[],
): Promise<readonly string[]> {
  const { runId, generation } = head
  // Whoever begins one from now on finds the note.
  const notes = keys.map((key) => ({
    runId,
    generation,
    key,
    name: CANCELLED,
    body: '"cancelled"',
  }))
  await send((store) => store.note(notes))
  const [loaded] = await send((store) => store.load([{ type: 'tasks', runId }]))
  const tasks = loaded?.type === 'tasks' ? loaded.tasks : []
  const idle = new Set(tasks.flatMap((task) => (task.session === undefined ? [task.taskId] : [])))
  for (const key of keys) if (!idle.has(taskId(head, key))) cancelTask(taskId(head, key))
  // One that is gone has ended: its answer is on its way.
  return keys.filter((key) => idle.has(taskId(head, key)))
}

function announce({ bus, logger }: WorkerPorts, head: Head, events: readonly HistoryEvent[]): void {
  for (const event of events) {
    const trouble = troubleIn(event)
    if (trouble !== undefined) warn({ logger }, head, trouble)
  }
  if (bus.heard) announceEvents(bus, head, events)
}

/** What people should hear of although nobody listens: one line each. Whoever terminates a run knows. */
function troubleIn(event: HistoryEvent): string | undefined {
  if (event.type === 'StepFailed') {
    const { key, attempt, reason, failure } = event
    const tries = attempt === 1 ? '1 attempt' : `${attempt} attempts`
    return `step ${key} failed after ${tries} (${reason}): ${inOneLine(failure)}`
  }
  if (event.type === 'RunCompleted') return leftUndone(event)
  if (event.type === 'MessageSent' && event.ended)
    return `signal '${event.name}' was not sent: run ${event.to} has ended`
  if (event.type !== 'RunFailed' || event.failure.type === TERMINATED) return undefined
  return `it failed: ${inOneLine(event.failure)}`
}

function inOneLine({ type, message }: Failure): string {
  const [line = ''] = message.split('\n')
  return `${type}: ${line.length > limits.loggedLengthMax ? `${line.slice(0, limits.loggedLengthMax)}…` : line}`
}

function paused({ bus, clock, logger }: WorkerPorts, head: Head, failure: Failure): void {
  const { runId, name: workflow } = head
  warn({ logger }, head, `it is paused: ${failure.message}`)
  const at = new Date(clock.now())
  bus.announce(() => ({ type: 'run.paused', at, runId, workflow, failure }))
}

function warn({ logger }: Pick<WorkerPorts, 'logger'>, head: Head, text: string): void {
  const { runId, workflowId, name } = head
  const known = workflowId === runId ? runId : `${workflowId} (${runId})`
  logger.log('warn', `run ${known} of '${name}': ${text}`)
}

function suspended({ bus, clock }: WorkerPorts, { runId, name: workflow }: Head): void {
  if (!bus.heard) return
  const at = new Date(clock.now())
  bus.announce(() => ({ type: 'run.suspended', at, runId, workflow }))
}

function log({ logger }: WorkerPorts, head: Head, execution: Execution): void {
  for (const { level, message, fields } of execution.takeLogs()) {
    logger.log(level, message, { runId: head.runId, workflow: head.name, ...fields })
  }
}
