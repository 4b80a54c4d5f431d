// The code of a held run: opened when it is needed, told what happened, and asked what it wants. It is replayed from the
// beginning once, or before every turn if the host says so.
import { assert } from '../base/assert.ts'
import type { Instant } from '../base/instant.ts'
import type { Command, Receiver, RunStep } from '../kernel/command.ts'
import type { Decider, Execution, StepPlan } from '../kernel/decider.ts'
import { strictly } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head, RunState } from '../kernel/run.ts'
import type { Turn } from '../kernel/turn.ts'
import type { RunHost } from './host.ts'
import type { LocalSteps } from './local-steps.ts'
import { interruptedSteps, readyHere } from './readiness.ts'

/** What is done by asking for it. */
const DONE_AT_ONCE: ReadonlySet<string> = new Set([
  'MessageSent',
  'AttributesSet',
  'CompensationBegan',
  'CompensationEnded',
])

export class HeldExecution {
  readonly #host: RunHost
  #head: Head
  #decider: Decider | undefined
  #execution: Execution | undefined
  #history: HistoryEvent[] = []
  #replayedThrough = 0
  /** Whether the code has been told anything yet. */
  begun = false

  constructor(host: RunHost, head: Head, warm: Execution | undefined) {
    this.#host = host
    this.#head = head
    this.#execution = warm
    this.begun = warm !== undefined
  }

  get current(): Execution {
    assert(this.#execution, 'the code is open before it is asked for anything')
    return this.#execution
  }

  /** Opens the code, to be told all of this first. */
  async open(head: Head, history: HistoryEvent[]): Promise<void> {
    this.#decider = await this.#host.decider(head, history)
    this.#head = head
    this.#history = history
    this.#replayedThrough = history.length
    this.#open()
  }

  async decide(turn: Turn, state: RunState, now: Instant): Promise<void> {
    const happened = [...turn.events]
    const { alwaysReplay } = this.#host
    const cold = !this.begun || alwaysReplay
    if (this.begun && alwaysReplay) this.#open()
    this.begun = true
    const given = cold ? [...this.#history, ...happened] : happened
    const commands = await this.current.advance(given, now, cold ? this.#replayedThrough : 0)
    await this.#command(turn, commands, now)
    if (this.#host.strict) turn.ending = strictly(turn.ending)
    this.#history = alwaysReplay ? [...this.#history, ...turn.events] : []
    this.#replayedThrough = state.seq
  }

  // Steps that may have been under way when earlier holders died have used up as many attempts. That is written down
  // before they are begun again. A step that must not run twice is never begun unrecorded, so it counts only if it is.
  async countDeaths(turn: Turn, state: RunState, crashes: number, now: Instant): Promise<void> {
    if (crashes === 0 || turn.ending || turn.continuation) return
    const deaths = interruptedSteps(state, turn, this.current, crashes, now)
    if (deaths.length === 0) return
    const before = turn.events.length
    turn.settle(deaths)
    const happened = turn.events.slice(before)
    await this.#command(turn, await this.current.advance(happened, now), now)
    if (this.#host.alwaysReplay) this.#history.push(...turn.events.slice(before))
    this.#replayedThrough = state.seq
  }

  /** Steps to begin here. Those for another worker go to the task queue with this turn. */
  ready(turn: Turn, state: RunState, steps: LocalSteps, now: Instant): [string, OpenStep][] {
    const held = { host: this.#host, head: this.#head, execution: this.current }
    return readyHere(turn, now, { ...held, state, steps })
  }

  planOf(key: string): StepPlan {
    const plan = this.current.step(key)
    assert(plan, `the code has asked for ${key}`)
    return plan
  }

  /** There is none if the run was ended before its history could be read. */
  dispose(): void {
    this.#execution?.dispose()
  }

  log(): void {
    if (this.#execution) this.#host.log(this.#head, this.#execution)
  }

  // What is done by asking for it, such as a signal to another run, is told to the code within the same turn.
  async #command(turn: Turn, commands: readonly Command[], now: Instant): Promise<void> {
    const before = turn.events.length
    const sends = commands.some(({ type }) => type === 'SendMessage')
    const receivers = sends ? await this.#receivers(commands) : undefined
    turn.command(commands, (step) => this.#isQueued(step), receivers)
    const done = turn.events.slice(before).filter(({ type }) => DONE_AT_ONCE.has(type))
    if (done.length === 0 || turn.ending || turn.continuation) return
    await this.#command(turn, await this.current.advance(done, now), now)
  }

  async #receivers(commands: readonly Command[]): Promise<ReadonlyMap<string, Receiver>> {
    const receivers = new Map<string, Receiver>()
    for (const command of commands) {
      if (command.type !== 'SendMessage') continue
      const receiver = await this.#host.receiver(command.to)
      if (receiver) receivers.set(command.key, receiver)
    }
    return receivers
  }

  #isQueued(step: RunStep): boolean {
    const plan = this.current.step(step.key)
    if (step.kind !== 'activity' || !plan) return false
    return !this.#host.hasRoom() || !this.#host.serves(step.name, plan, this.#head)
  }

  #open(): void {
    assert(this.#decider, `a claimed run has code here: ${this.#head.name}`)
    this.#execution?.dispose()
    this.#execution = this.#decider.open(this.#head, this.#host)
  }
}
