// From announcements to spans that are over: of runs, turns, replays and tasks.
import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { limits } from '../core/base/limits.ts'
import {
  type Announcement,
  type Listener,
  parentSpanOf,
  parseTraceparent,
  type RunTrace,
  runSpanOf,
  type SpanPlace,
} from '../core/index.ts'
import { contextOf, isAt, spanContextOf, startSpanAt } from './ids.ts'

type Attributes = Record<string, string | number | undefined>
type Ended = Extract<Announcement, { beganAt: Date }>
type OfTask = Extract<Announcement, { type: 'task.claimed' | 'task.settled' }>

/** How many tasks of a queue wait, if that is known. */
export type DepthOf = (queue: string) => number | undefined

export function spans(tracer: Tracer, depthOf: DepthOf): Listener {
  return (heard) => {
    switch (heard.type) {
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
      case 'run.continued':
        return spanOfRun(tracer, heard)
      case 'turn.committed':
        return spanOver(tracer, 'durable.event.append', heard, {
          attributes: { 'durable.event.count': heard.events, 'durable.worker.id': heard.worker },
          links: linksTo(heard.callers),
        })
      case 'run.replayed': {
        const { ms, events, worker } = heard
        const attributes = { 'durable.workflow.events': events, 'durable.worker.id': worker }
        if (ms > limits.replaySpanMs) spanOver(tracer, 'durable.workflow.replay', heard, { attributes })
        return
      }
      case 'task.claimed': {
        const attributes = { ...ofTask(heard), 'durable.task_queue.depth': depthOf(heard.queue) }
        return spanOver(tracer, 'durable.task.claim', heard, { attributes })
      }
      case 'task.settled':
        return spanOver(tracer, 'durable.task.complete', heard, { attributes: ofTask(heard) })
      default:
    }
  }
}

// Without the generator of ids, the span would stand beside its children: it is never ended, so never exported.
function spanOfRun(tracer: Tracer, heard: Ended): void {
  const { trace, workflowId, workflow, runId, worker, beganAt, at } = heard
  const place = runSpanOf(trace)
  const { parent, caller, join, generation } = trace
  const span = startSpanAt(tracer, place, {
    name: 'durable.workflow.run',
    parent: parentSpanOf(trace),
    kind: SpanKind.INTERNAL,
    startTime: beganAt,
    links: !parent && !join && generation === 1 && caller !== undefined ? linksTo([caller]) : [],
    attributes: known({
      'durable.workflow.id': workflowId,
      'durable.workflow.run_id': runId,
      'durable.workflow.type': workflow,
      'durable.workflow.status': heard.type.slice('run.'.length),
      'durable.workflow.generation': generation,
      'durable.worker.id': worker,
    }),
  })
  if (!isAt(span, place)) return
  if (heard.type === 'run.failed') {
    span.setStatus({ code: SpanStatusCode.ERROR, message: heard.failure.message })
    span.setAttribute('error.type', heard.failure.type)
  }
  span.end(at)
}

/** A span of the work on a run that took `ms` and is over. */
function spanOver(
  tracer: Tracer,
  name: string,
  { at, ms, trace }: { readonly at: Date; readonly ms: number; readonly trace: RunTrace },
  { attributes, links = [] }: { readonly attributes: Attributes; readonly links?: ReturnType<typeof linksTo> },
): void {
  const startTime = new Date(at.getTime() - ms)
  tracer.startSpan(name, { startTime, links, attributes: known(attributes) }, contextOf(runSpanOf(trace))).end(at)
}

function ofTask({ activity, step, attempt, priority, worker }: OfTask): Attributes {
  return {
    'durable.activity.id': step,
    'durable.activity.type': activity,
    'durable.activity.attempt': attempt,
    'durable.task.priority': priority,
    'durable.worker.id': worker,
  }
}

function linksTo(callers: readonly string[]): { context: ReturnType<typeof spanContextOf> }[] {
  const places = callers.map(parseTraceparent).filter((place): place is SpanPlace => place !== undefined)
  return places.map((place) => ({ context: spanContextOf(place) }))
}

export function known(attributes: Attributes): Record<string, string | number> {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Record<string, string | number>
}
