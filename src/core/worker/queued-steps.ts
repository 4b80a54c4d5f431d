// The steps of a held run that other workers run: which steps go to the task queue, the tasks of a turn, and how a
// queued step is cancelled.
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { GivenOptions, StepPlan } from '../kernel/decider.ts'
import { taskId } from '../kernel/ids.ts'
import { awaitsEnd, type OpenStep } from '../kernel/requests.ts'
import type { Head, RunState } from '../kernel/run.ts'
import type { StoredTrace } from '../kernel/run-trace.ts'
import { storedTraceOf } from '../kernel/trace.ts'
import type { Turn } from '../kernel/turn.ts'
import type { NewTask } from '../stores/store.ts'
import { warn } from './announce.ts'
import type { WorkerContext } from './context.ts'
import { CANCELLED } from './step-notes.ts'

/** What a worker that claims the task needs to know; it may not have the workflow's code. */
export interface TaskBody {
  readonly key: string
  readonly generation: number
  readonly keysOf?: number | undefined
  readonly chapter?: number | undefined
  readonly workflowId: string
  readonly input: Payload
  /** As the holder of the run sees them, which may not have the code of the activity. */
  readonly retry: StepPlan['retry']
  readonly startToCloseMs?: number | undefined
  readonly heartbeatMs?: number | undefined
  readonly startBy?: Instant | undefined
  readonly closeBy?: Instant | undefined
  readonly given?: GivenOptions | undefined
  /** Attempts made before the step was queued. */
  readonly failed?: number | undefined
  /** When the step is cancelled, the run waits for its end. */
  readonly awaited?: true | undefined
  readonly trace?: StoredTrace | undefined
  /** Absent in tasks of older releases. */
  readonly queue?: string
  readonly priority?: number
  /** When the step was queued. */
  readonly at?: Instant
}

/** Whether this worker may run an activity: it has its code, and serves its queue. */
export function serves(
  { settings, registry, logger, missingActivities }: WorkerContext,
  activity: string,
  plan: StepPlan,
  head: Head,
): boolean {
  const queue = plan.queue ?? head.queue
  if (!settings.queues.includes(queue)) return false
  if (registry.activity(activity) !== undefined) return true
  // It may be intended that a worker of this queue has no such code; more often the code was forgotten.
  if (!missingActivities.has(activity)) {
    missingActivities.add(activity)
    const text = `activity '${activity}' waits for another worker: this one serves queue '${queue}', and was not given its code`
    warn(logger, head, text)
  }
  return false
}

/** The tasks of a turn: its queued steps, unless the run has stopped waiting for them since. */
export function tasksOf(head: Head, state: RunState, turn: Turn, planOf: (key: string) => StepPlan): NewTask[] {
  const tasks: NewTask[] = []
  const add = (key: string): void => {
    const step = state.open.get(key)
    if (step?.type === 'step' && step.queued) tasks.push(newTask(head, key, step, { plan: planOf(key), at: state.at }))
  }
  for (const { key } of turn.steps) add(key)
  for (const key of turn.queued) add(key)
  return tasks
}

function newTask(head: Head, key: string, step: OpenStep, { plan, at }: { plan: StepPlan; at: Instant }): NewTask {
  const { queue = head.queue, priority = head.priority } = plan
  const body: TaskBody = {
    key,
    generation: head.generation,
    keysOf: head.keysOf,
    chapter: head.chapter,
    workflowId: head.workflowId,
    input: step.input ?? { json: null },
    retry: plan.retry,
    startToCloseMs: plan.startToCloseMs,
    heartbeatMs: plan.heartbeatMs,
    startBy: step.startBy,
    closeBy: step.closeBy,
    given: plan.given,
    failed: step.failed > 0 ? step.failed : undefined,
    awaited: awaitsEnd(step) ? true : undefined,
    trace: storedTraceOf(head),
    queue,
    priority,
    at,
  }
  return {
    taskId: taskId(head, key),
    name: step.name,
    queue,
    priority,
    body: JSON.stringify(body),
  }
}

/** Keys of queued steps that should have begun by now. Undefined if there are none, as almost always. */
export function overdueSteps(state: RunState, now: Instant): readonly string[] | undefined {
  let overdue: string[] | undefined
  for (const [key, open] of state.requests.timed()) {
    if (open.type !== 'step' || open.startBy === undefined || open.startBy > now) continue
    overdue ??= []
    overdue.push(key)
  }
  return overdue
}

/** Those of the overdue steps that a worker has begun. */
export async function begunInTime(
  { line }: WorkerContext,
  head: Head,
  overdue: readonly string[],
): Promise<ReadonlySet<string>> {
  const { runId } = head
  const [loaded] = await line.send((store) => store.load([{ type: 'tasks', runId }]))
  const waiting = new Set<string>()
  for (const task of loaded?.type === 'tasks' ? loaded.tasks : [])
    if (task.deliveries + task.failed === 0) waiting.add(task.taskId)
  // A task that is gone was begun and has ended: its result is in the inbox, or will be.
  return new Set(overdue.filter((key) => !waiting.has(taskId(head, key))))
}

/** Queued steps that were cancelled and whose end the code waits for, except those in `told`. */
export function cancelledTasks(state: RunState, told: ReadonlySet<string>): readonly string[] {
  if (!state.requests.hasStopped) return []
  const keys: string[] = []
  for (const [key, open] of state.open)
    if (open.type === 'step' && open.stopping && open.queued && !told.has(key)) keys.push(key)
  return keys
}

/**
 * Tells the workers that run these queued steps that they were cancelled; each of those ends by a message. Returns the
 * steps that no worker runs.
 */
export async function cancelTasks(
  { line, tasks: held }: WorkerContext,
  head: Head,
  keys: readonly string[],
): Promise<readonly string[]> {
  const { runId, generation } = head
  // A worker that claims such a task from now on finds the note.
  const body = '"cancelled"'
  const notes = keys.map((key) => ({ runId, generation, key, name: CANCELLED, body }))
  await line.send((store) => store.note(notes))
  const [loaded] = await line.send((store) => store.load([{ type: 'tasks', runId }]))
  const idle = new Set<string>()
  for (const task of loaded?.type === 'tasks' ? loaded.tasks : []) if (task.session === undefined) idle.add(task.taskId)
  // A task that is gone has ended: its result is in the inbox, or will be.
  return keys.filter((key) => {
    const id = taskId(head, key)
    if (!idle.has(id)) held.get(id)?.cancel()
    return idle.has(id)
  })
}
