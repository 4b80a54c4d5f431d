// Plays a machine turn by turn with the kernel's own turn, and no worker or store. Every turn is decided twice, by an
// execution that stays warm and by one that is opened anew on the whole history; both must ask for the same.
import { expect } from 'vitest'
import { decode, encode } from '../../src/core/base/value.ts'
import { machineDecider, rewindOf } from '../../src/core/deciders/decider.ts'
import type { RegisteredMachine } from '../../src/core/definitions/registry.ts'
import type { AnyWorkflow } from '../../src/core/definitions/workflow.ts'
import type { Command } from '../../src/core/kernel/command.ts'
import type { Execution, StepPlan } from '../../src/core/kernel/decider.ts'
import type { HistoryEvent } from '../../src/core/kernel/event.ts'
import type { Message } from '../../src/core/kernel/message.ts'
import { type Head, RunState } from '../../src/core/kernel/run.ts'
import { type LocalResult, Turn } from '../../src/core/kernel/turn.ts'
import { head, world } from './replay.ts'

export class Play {
  readonly events: HistoryEvent[] = []
  readonly state = new RunState()
  readonly #machine: RegisteredMachine
  readonly #head: Head
  readonly #warm: Execution
  now = 1_000
  turn: Turn | undefined
  #messages = 0

  constructor(given: AnyWorkflow, past: readonly HistoryEvent[] = [], input: unknown = null) {
    this.#machine = given as unknown as RegisteredMachine
    this.#head = { ...head, input: encode(input, 'input') }
    for (const { seq: _, ...event } of past) this.events.push(this.state.apply(event))
    this.#warm = this.#open()
  }

  begin(): Promise<readonly Command[]> {
    return this.play(() => {}, [...this.events])
  }

  complete(...done: (readonly [key: string, value: unknown])[]): Promise<readonly Command[]> {
    return this.play((turn) => turn.settle(done.map(([key, value]) => completed(key, value))))
  }

  fail(key: string, message: string): Promise<readonly Command[]> {
    const failure = { type: 'Error', message, retryable: true }
    const outcome = { ok: false, attempt: 2, failure, reason: 'exhausted' } as const
    return this.play((turn) => turn.settle([{ type: 'ended', key, outcome }]))
  }

  send(...messages: readonly Message[]): Promise<readonly Command[]> {
    return this.play((turn) => turn.receive(messages))
  }

  signal(name: string, payload?: unknown): Message {
    const id = `m${++this.#messages}`
    return { type: 'signal', id, name, payload: encode(payload, 'payload') }
  }

  pass(ms: number): Promise<readonly Command[]> {
    this.now += ms
    return this.play(() => {})
  }

  async play(happens: (turn: Turn) => void, replay: readonly HistoryEvent[] = []): Promise<readonly Command[]> {
    const turn = new Turn(this.#head, this.state, this.now)
    happens(turn)
    turn.fireDue()
    const before = this.events.slice()
    const commands = await this.#warm.advance([...replay, ...turn.events], this.now)
    const cold = this.#open()
    const again = await cold.advance([...before, ...turn.events], this.now)
    expect(again.map(withoutStack)).toEqual(commands.map(withoutStack))
    for (const each of commands) {
      if ('key' in each) expect(cold.step(each.key)).toEqual(this.#warm.step(each.key))
    }
    turn.command(commands, () => false)
    this.events.push(...turn.events)
    this.turn = turn
    expect(this.stateNow).toEqual(await this.#answer())
    return commands
  }

  get stateNow(): unknown {
    return decode(this.#warm.query('state', { json: null }))
  }

  step(key: string): StepPlan | undefined {
    return this.#warm.step(key)
  }

  async #answer(): Promise<unknown> {
    const cold = this.#open()
    await cold.advance(this.events, this.now)
    return decode(cold.query('state', { json: null }))
  }

  #open(): Execution {
    return machineDecider(this.#machine, () => undefined).open(this.#head, world)
  }
}

function completed(key: string, value: unknown): LocalResult {
  const outcome = { ok: true, attempt: 1, value: encode(value, 'value') } as const
  return { type: 'ended', key, outcome }
}

/** What was asked for, as short text. */
export function asked(commands: readonly Command[]): string[] {
  return commands.flatMap((each) => {
    if (each.type === 'Decide') {
      const { decision } = each
      return decision.type === 'StateMoved' ? [`moved by ${decision.by}`] : []
    }
    if (each.type === 'CancelRequests') return [`off ${each.keys.join()}`]
    return ['key' in each ? each.key : each.type]
  })
}

function withoutStack(command: Command): Command {
  if (command.type !== 'FailRun') return command
  return { ...command, failure: { ...command.failure, stack: '' } }
}

/** The history a run begins with when it is tried again. */
export function retry(play: Play): HistoryEvent[] {
  const { turn } = play
  const closed = turn?.ending ? [...play.events, turn.close().event] : play.events
  const begins = { reason: 'retried', input: { json: null }, keysOf: 1, attempt: 2 } as const
  const events = rewindOf(closed).retried(closed, begins, play.now)
  return events.map((event, index) => ({ ...event, seq: index + 1 }))
}
