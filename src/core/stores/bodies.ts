// Where the opaque texts are in calls to a store, and in its answers. Each function returns its argument with every
// such text changed, always in the same order.
import type * as seam from './store.ts'

export type Change = (text: string) => string

export function inNewRun(run: seam.NewRun, change: Change): seam.NewRun {
  const { extras, past, message, displaced } = run
  return {
    ...run,
    input: change(run.input),
    ...(extras !== undefined && { extras: change(extras) }),
    ...(past && { past: withBody(past, change) }),
    ...(message && { message: withBody(message, change) }),
    ...(displaced && { displaced: withBody(displaced, change) }),
  }
}

export function inPost<P extends seam.Post>(post: P, change: Change): P {
  return { ...post, message: withBody(post.message, change) }
}

export function inTurn(turn: seam.TurnCommit, change: Change): seam.TurnCommit {
  return {
    ...turn,
    body: change(turn.body),
    outbox: turn.outbox.map((item) => inOutbound(item, change)),
    tasks: turn.tasks.map((task) => withBody(task, change)),
    ...(turn.streams && { streams: turn.streams.map((each) => ('body' in each ? withBody(each, change) : each)) }),
    next: inNext(turn.next, change),
  }
}

function inOutbound(item: seam.Outbound, change: Change): seam.Outbound {
  if (item.type === 'post') return inPost(item, change)
  const run = inNewRun(item.run, change)
  return { ...item, run, otherwise: withBody(item.otherwise, change) }
}

function inNext(next: seam.Next, change: Change): seam.Next {
  if (next.type === 'pause') return { ...next, failure: change(next.failure) }
  return next.type === 'continue' ? { ...next, past: withBody(next.past, change) } : next
}

export function inOutcome(outcome: seam.TaskOutcome, change: Change): seam.TaskOutcome {
  const { result } = outcome
  if (result.type === 'done') return { ...outcome, result: { ...result, message: withBody(result.message, change) } }
  if (result.type === 'retry') return { ...outcome, result: { ...result, failure: change(result.failure) } }
  return outcome
}

export function inNote(note: seam.Note, change: Change): seam.Note {
  return withBody(note, change)
}

export function inBatch(batch: seam.StreamBatch, change: Change): seam.StreamBatch {
  return withBody(batch, change)
}

export function inOperation(operation: seam.RecordOperation, change: Change): seam.RecordOperation {
  return operation.type === 'put' ? withBody(operation, change) : operation
}

export function inRecords(outcome: seam.RecordOutcome, change: Change): seam.RecordOutcome {
  if (outcome.type === 'list') return { ...outcome, records: outcome.records.map((record) => withBody(record, change)) }
  return 'record' in outcome && outcome.record ? { ...outcome, record: withBody(outcome.record, change) } : outcome
}

export function inCreated(created: seam.Created, change: Change): seam.Created {
  return 'run' in created && created.run ? { ...created, run: inClaimedRun(created.run, change) } : created
}

export function inClaimed(claimed: seam.Claimed, change: Change): seam.Claimed {
  return {
    ...claimed,
    runs: claimed.runs.map((run) => inClaimedRun(run, change)),
    tasks: claimed.tasks.map((task) => withBody(task, change)),
    news: claimed.news.map((news) => ({ ...news, messages: inMessages(news.messages, change) })),
  }
}

export function inCommitted(committed: seam.Committed, change: Change): seam.Committed {
  if (committed.outcome !== 'more') return committed
  return { ...committed, messages: inMessages(committed.messages, change) }
}

export function inNoted(noted: seam.Noted, change: Change): seam.Noted {
  return noted.body === undefined ? noted : { body: change(noted.body) }
}

export function inLoaded(loaded: seam.Loaded, change: Change): seam.Loaded {
  switch (loaded.type) {
    case 'run':
      return loaded.run ? { ...loaded, run: inSnapshot(loaded.run, change) } : loaded
    case 'history':
      return { ...loaded, turns: loaded.turns.map((turn) => withBody(turn, change)) }
    case 'tasks':
      return {
        ...loaded,
        tasks: loaded.tasks.map((task) =>
          task.failure === undefined ? task : { ...task, failure: change(task.failure) },
        ),
      }
    case 'notes': {
      const notes = Object.entries(loaded.notes).map(([name, body]) => [name, change(body)])
      return { ...loaded, notes: Object.fromEntries(notes) as Record<string, string> }
    }
    case 'stream': {
      const { page } = loaded
      if (!page) return loaded
      return { type: 'stream', page: { ...page, batches: page.batches.map((batch) => withBody(batch, change)) } }
    }
    default:
      return loaded
  }
}

export function inListed(listed: seam.Listed, change: Change): seam.Listed {
  return { ...listed, runs: listed.runs.map((run) => inSnapshot(run, change)) }
}

function inSnapshot(run: seam.RunSnapshot, change: Change): seam.RunSnapshot {
  const { head, last, paused } = run
  return {
    ...run,
    head: inHead(head, change),
    ...(last !== undefined && { last: change(last) }),
    ...(paused && { paused: { ...paused, failure: change(paused.failure) } }),
  }
}

function inClaimedRun(run: seam.ClaimedRun, change: Change): seam.ClaimedRun {
  return { ...run, head: inHead(run.head, change), messages: inMessages(run.messages, change) }
}

function inHead(head: seam.StoredHead, change: Change): seam.StoredHead {
  const { input, extras } = head
  return { ...head, input: change(input), ...(extras !== undefined && { extras: change(extras) }) }
}

function inMessages(messages: readonly seam.StoredMessage[], change: Change): seam.StoredMessage[] {
  return messages.map((message) => withBody(message, change))
}

function withBody<T extends Pick<seam.InitialTurn, 'body'>>(given: T, change: Change): T {
  return { ...given, body: change(given.body) }
}
