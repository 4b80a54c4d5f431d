// A batch of turns as the arguments of one function call. Columns travel as array literals of numbers and ids, bodies
// as one text joined by a character that JSON never contains raw, and the rare parts together as JSON.

import { limits } from '../../core/base/limits.ts'
import {
  type AttributeChanges,
  ENDED,
  isList,
  NEVER,
  type NewRun,
  type Next,
  type Outbound,
  RELEASED,
  RUN_WRITER,
  type TurnCommit,
} from '../../core/stores/driver.ts'
import { attributeColumns, itemsOf } from '../sql/attributes.ts'

/** Ends a body. JSON escapes control characters, and ids are refused if they have any. */
export const SEPARATOR = '\x1e'

export function commitArguments(turns: readonly TurnCommit[]): unknown[] {
  const column = (value: (turn: TurnCommit) => string | number): string => `{${turns.map(value).join(',')}}`
  // Ids that a turn leaves unread travel with those it consumes, under the negative of its number.
  const taken = turns.flatMap(({ consumed, next }, index) => {
    const left = next.type === 'pause' ? (next.left ?? []) : []
    const numbered = (ids: readonly string[], n: number) => ids.map((id) => ({ n, id }))
    return [...numbered(consumed, index + 1), ...numbered(left, -index - 1)]
  })
  return [
    limits.clockAheadMsMax,
    column((turn) => turn.runId),
    column((turn) => turn.lease.session),
    column((turn) => turn.lease.epoch),
    column((turn) => turn.lease.nonce),
    column((turn) => turn.generation),
    column((turn) => turn.seq),
    column((turn) => turn.count),
    column((turn) => turn.turnId),
    column((turn) => turn.at),
    column((turn) => nextCode(turn.next)),
    column((turn) => (turn.next.type === 'release' ? (turn.next.wakeAt ?? NEVER) : NEVER)),
    turns.map((turn) => turn.body).join(SEPARATOR),
    turns.some(({ next }) => reasonOf(next) !== null)
      ? turns.map(({ next }) => reasonOf(next) ?? '').join(SEPARATOR)
      : '',
    `{${taken.map(({ n }) => n).join(',')}}`,
    taken.map(({ id }) => id).join(SEPARATOR),
    extras(turns),
  ]
}

/** The arguments of `commit_turn`, if the batch is a single plain turn. */
export function plainTurnArguments(turns: readonly TurnCommit[]): unknown[] | undefined {
  const [turn, another] = turns
  if (!turn || another || turn.count === 0 || !isPlain(turn)) return undefined
  const { runId, lease, generation, seq, count, turnId, at, next, body } = turn
  if (turn.consumed.length > 0 || next.type === 'release') return undefined
  const { session, epoch, nonce } = lease
  const fence = [limits.clockAheadMsMax, runId, session, epoch, nonce]
  return [...fence, generation, seq, count, turnId, at, nextCode(next), body, reasonOf(next)]
}

function reasonOf(next: Next): string | null {
  return 'reason' in next ? (next.reason ?? null) : null
}

function isPlain({ tasks, dropped, outbox, attributes, next, ...turn }: TurnCommit): boolean {
  if (next.type === 'pause' || next.type === 'continue' || attributes) return false
  if (turn.compensating !== undefined || turn.pin !== undefined || turn.streams) return false
  return tasks.length + dropped.length + outbox.length === 0
}

// See `commit_turns`.
function nextCode(next: Next): number {
  switch (next.type) {
    case 'hold':
      return 0
    case 'release':
      return -1 - RELEASED.indexOf(next.status)
    // Released as a run that continues at once; the rest travels with the rare parts.
    case 'continue':
      return -1 - RELEASED.indexOf('running')
    case 'pause':
      return 3
    case 'end':
      return 4 + ENDED.indexOf(next.status)
  }
}

function extras(turns: readonly TurnCommit[]): string | null {
  if (turns.every(isPlain)) return null
  const each = <T>(of: (turn: TurnCommit) => readonly T[]): (T & { n: number })[] =>
    turns.flatMap((turn, index) => of(turn).map((item) => ({ ...item, n: index + 1 })))
  return JSON.stringify({
    tasks: each((turn) => turn.tasks.map((task) => ({ ...task, runId: turn.runId }))),
    dropped: each((turn) => turn.dropped.map((taskId) => ({ taskId }))),
    starts: each((turn) => turn.outbox.filter(isStart).map((item) => startOf(turn, item))),
    posts: each((turn) => turn.outbox.filter(isPost).map(postOf)),
    attributes: each(({ runId, attributes }) => (attributes ? [{ runId, set: attributeRows(attributes) }] : [])),
    ...(turns.some(({ streams }) => streams) && { streams: each(streamsOf) }),
    continues: each(({ runId, generation, lease, next }) =>
      next.type === 'continue' ? [{ runId, generation: generation + 1, epoch: lease.epoch, past: next.past }] : [],
    ),
    ...(turns.some(({ compensating }) => compensating !== undefined) && {
      undoing: turns.map(({ compensating }) => compensating ?? null),
    }),
    ...(turns.some(({ pin }) => pin !== undefined) && {
      pins: turns.map(({ pin }) => pin ?? null),
    }),
    pauses: Object.fromEntries(turns.flatMap(({ next }, index) => (next.type === 'pause' ? [[index + 1, next]] : []))),
  })
}

function streamsOf({ runId, generation, streams = [] }: TurnCommit): { stream: object }[] {
  const of = { runId, generation, writer: RUN_WRITER, attempt: 0, partId: 0 }
  return streams.map((stream) => ({ stream: { ...of, ...stream } }))
}

/** Attributes as rows of their tables; a removed one as its name alone. */
export function attributeRows(changes: AttributeChanges): object[] {
  return Object.entries(changes).map(([name, value]) => {
    if (value === null) return { name }
    return isList(value) ? { name, items: itemsOf(value) } : { name, ...attributeColumns(value) }
  })
}

type Start = Extract<Outbound, { type: 'start' }>
type Posting = Extract<Outbound, { type: 'post' }>

function isStart(item: Outbound): item is Start {
  return item.type === 'start'
}

function isPost(item: Outbound): item is Posting {
  return item.type === 'post'
}

function startOf(turn: TurnCommit, { run, otherwise }: Start): object {
  return { run: newRun(run), sender: turn.runId, id: otherwise.id, body: otherwise.body }
}

/** A run as the functions of the store take it. */
export function newRun(run: NewRun): object {
  return { ...run, ...(run.attributes && { attributes: attributeRows(run.attributes) }) }
}

function postOf({ runId, message, urgent, resumes }: Posting): object {
  return { target: runId, ...message, urgent: urgent === true, resumes: resumes === true }
}
