// Plays a workflow function against a history, turn by turn, with the kernel's own turn and no worker or store.
// `Play` takes today's code and what yesterday's left behind; each method is one turn and answers its commands.

import { decode, encode } from '../../src/core/base/value.ts'
import { functionDecider } from '../../src/core/deciders/decider.ts'
import type { Context } from '../../src/core/definitions/context.ts'
import type { WorkflowOptions } from '../../src/core/definitions/options.ts'
import type { Command } from '../../src/core/kernel/command.ts'
import type { Execution } from '../../src/core/kernel/decider.ts'
import type { Ending, HistoryEvent } from '../../src/core/kernel/event.ts'
import type { Message } from '../../src/core/kernel/message.ts'
import { type Head, RunState } from '../../src/core/kernel/run.ts'
import { type LocalResult, Turn } from '../../src/core/kernel/turn.ts'

export type Code = (ctx: Context, input: unknown) => Promise<unknown>

export const runId = '01900000-0000-7000-8000-000000000001'

export const head: Head = {
  runId,
  name: 'test',
  workflowId: runId,
  queue: 'default',
  priority: 0,
  generation: 1,
  createdAt: 1_000,
  input: { json: null },
  extras: {},
}

/** What an execution may have of the world: here, nothing. */
export const world = { breathe: async (): Promise<void> => {}, secret: () => '0'.repeat(36) }

export class Play {
  readonly events: HistoryEvent[] = []
  readonly state = new RunState()
  readonly execution: Execution
  now: number
  ending: Ending | undefined
  #messages = 0

  constructor(code: Code, past: readonly HistoryEvent[] = [], options: WorkflowOptions = {}, input: unknown = null) {
    const definition = { name: 'test', options, schemas: {}, definitionHash: 'hash' }
    const workflow = { ...definition, style: 'function', handler: code } as const
    const given = { ...head, input: encode(input, 'input') }
    this.execution = functionDecider(workflow, () => undefined).open(given, world)
    for (const { seq: _, ...event } of past) this.events.push(this.state.apply(event))
    this.now = Math.max(head.createdAt, this.state.at)
    this.#messages = past.filter(({ type }) => type === 'SignalReceived').length
  }

  /** The first turn: everything recorded is replayed. */
  async begin(): Promise<readonly Command[]> {
    const replayed = this.events.length
    return this.#turn(() => {}, [...this.events], replayed)
  }

  complete(key: string, value?: unknown): Promise<readonly Command[]> {
    return this.settle([completed(key, value)])
  }

  fail(key: string, message = 'failed'): Promise<readonly Command[]> {
    const failure = { type: 'Error', message, retryable: true }
    const outcome = { ok: false, attempt: 1, failure, reason: 'exhausted' } as const
    return this.settle([{ type: 'ended', key, outcome }])
  }

  settle(results: readonly LocalResult[]): Promise<readonly Command[]> {
    return this.#turn((turn) => turn.settle(results))
  }

  /** Several things that happen in one turn: messages first, then results, then what is due. */
  meanwhile(messages: readonly Message[], results: readonly LocalResult[] = []): Promise<readonly Command[]> {
    return this.#turn((turn) => {
      turn.receive(messages)
      turn.settle(results)
    })
  }

  signal(name: string, payload?: unknown): Promise<readonly Command[]> {
    return this.meanwhile([this.signalMessage(name, payload)])
  }

  signalMessage(name: string, payload?: unknown): Message {
    const id = `m${++this.#messages}`
    return { type: 'signal', id, name, payload: encode(payload, 'payload') }
  }

  cancel(reason?: string): Promise<readonly Command[]> {
    return this.meanwhile([{ type: 'cancel', id: 'c', ...(reason !== undefined && { reason }) }])
  }

  /** Time passes, and what is due fires. */
  pass(ms: number): Promise<readonly Command[]> {
    this.now += ms
    return this.#turn(() => {})
  }

  get result(): unknown {
    return this.ending?.type === 'RunCompleted' ? decode(this.ending.value) : this.ending
  }

  async #turn(
    happens: (turn: Turn) => void,
    replay: readonly HistoryEvent[] = [],
    replayedThrough = 0,
  ): Promise<readonly Command[]> {
    const turn = new Turn(head, this.state, this.now)
    happens(turn)
    turn.fireDue()
    const given = [...replay, ...turn.events]
    const commands = await this.execution.advance(given, this.now, replayedThrough)
    turn.command(commands, () => false)
    this.events.push(...turn.events)
    this.ending = turn.ending
    return commands
  }
}

export function completed(key: string, value?: unknown): LocalResult {
  const outcome = { ok: true, attempt: 1, value: encode(value, 'value') } as const
  return { type: 'ended', key, outcome }
}

/** The commands as short text: what was asked for. */
export function asked(commands: readonly Command[]): string[] {
  return commands.map((each) => ('key' in each ? each.key : each.type))
}

/** Plays code from the start, completing each step with its key as value, until only `open` keys are left. */
export async function record(
  code: Code,
  open: (key: string) => boolean = () => false,
  input: unknown = null,
): Promise<HistoryEvent[]> {
  const play = new Play(code, [], {}, input)
  await play.begin()
  for (;;) {
    const next = [...play.state.open].find(([key, each]) => each.type === 'step' && !open(key))
    if (!next || play.ending) return play.events
    await play.complete(next[0], `result of ${next[0]}`)
  }
}
