// The code of a held run: opened when it is needed, told what happened, and asked what it wants. It is replayed from
// the beginning once, or before every turn with `alwaysReplay`.
import { assert } from '../base/assert.ts'
import type { Instant } from '../base/time.ts'
import type { Command, Receiver, RunStep, SendMessage } from '../kernel/command.ts'
import type { Decider, Execution, StepPlan } from '../kernel/decider.ts'
import { strictly } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head, RunState } from '../kernel/run.ts'
import type { LocalResult, Turn } from '../kernel/turn.ts'
import { announceReplay, showLogs } from './announce.ts'
import type { WorkerContext } from './context.ts'
import { serves } from './queued-steps.ts'
import { interrupted, isSpent, type Steps } from './steps.ts'
import type { StoreLine } from './store-line.ts'

export class HeldExecution {
  readonly #context: WorkerContext
  readonly #onBreak: () => void
  #head: Head
  #decider: Decider | undefined
  #execution: Execution | undefined
  /** Events to begin the next replay with. */
  #history: HistoryEvent[] = []
  #replayedThrough = 0
  /** Whether the code has been told any event yet. */
  hasBegun: boolean

  /** `onBreak` is called when the code turns out to be broken between turns. */
  constructor(context: WorkerContext, head: Head, warm: Execution | undefined, onBreak: () => void) {
    this.#context = context
    this.#onBreak = onBreak
    this.#head = head
    this.#execution = warm
    if (warm) warm.onBreak = onBreak
    this.hasBegun = warm !== undefined
  }

  get current(): Execution {
    assert(this.#execution, 'the code is open before it is asked for anything')
    return this.#execution
  }

  /** Opens the code. The next turn replays this history. */
  async open(head: Head, history: HistoryEvent[]): Promise<void> {
    const { line, deciders } = this.#context
    this.#decider = await line.send(() => deciders.of(head, history))
    this.#head = head
    this.#history = history
    this.#replayedThrough = history.length
    this.#open()
  }

  /**
   * Tells the code what happened and takes its commands. `deaths` are those of earlier holders, not yet accounted for.
   */
  async decide(turn: Turn, state: RunState, deaths: number, now: Instant): Promise<void> {
    const { broken } = this.current
    if (broken) throw broken
    const isFirst = !this.hasBegun
    if (!isFirst && turn.events.length === 0) return
    const { alwaysReplay, strict } = this.#context.settings
    const isReplay = isFirst || alwaysReplay
    if (alwaysReplay && !isFirst) this.#open()
    this.hasBegun = true
    const given = isReplay ? [...this.#history, ...turn.events] : [...turn.events]
    const { bus, clock } = this.#context
    const began = bus.heard && isReplay ? clock.monotonic() : 0
    await this.#advance(turn, given, now, isReplay ? this.#replayedThrough : 0)
    // The beginning of a generation has nothing that was decided before.
    if (bus.heard && isReplay && this.#history.some(({ seq }) => seq > 1))
      announceReplay(this.#context, this.#head, { events: this.#history.length, ms: clock.monotonic() - began })
    if (strict) turn.ending = strictly(turn.ending)
    this.#history = alwaysReplay ? [...this.#history, ...turn.events] : []
    this.#replayedThrough = state.seq
    if (isFirst) await this.#countDeaths(turn, state, deaths, now)
  }

  // Steps that may have run when earlier holders died have used as many attempts. That is recorded before they begin
  // again.
  async #countDeaths(turn: Turn, state: RunState, deaths: number, now: Instant): Promise<void> {
    if (deaths === 0 || turn.ending || turn.continuation) return
    const results = interruptedSteps(state, turn, this.current, deaths, now)
    if (results.length === 0) return
    const before = turn.events.length
    turn.settle(results)
    await this.#advance(turn, turn.events.slice(before), now)
    if (this.#context.settings.alwaysReplay) this.#history.push(...turn.events.slice(before))
    this.#replayedThrough = state.seq
  }

  /**
   * Steps to begin here: open, not running, not queued and not waiting for a retry. Those for another worker are queued
   * with this turn, whether their last attempt failed here or at a worker that served more queues.
   */
  takeReady(turn: Turn, state: RunState, steps: Steps, now: Instant): [string, OpenStep][] {
    const here: [string, OpenStep][] = []
    const elsewhere: string[] = []
    for (const [key, open] of state.open) {
      if (open.type !== 'step' || open.queued || steps.has(key)) continue
      const plan = this.current.step(key)
      if (!plan || (open.retryAt ?? 0) > now) continue
      // A step that was cancelled, or has no attempt left, is ended here, wherever it was to run.
      if (open.stopping || isSpent(open, plan) || this.#runsHere(open, plan)) here.push([key, open])
      else elsewhere.push(key)
    }
    turn.queue(elsewhere)
    return here
  }

  // Steps written in the code of a workflow run where the workflow does.
  #runsHere({ kind, name }: OpenStep | RunStep, plan: StepPlan): boolean {
    return kind !== 'activity' || serves(this.#context, name, plan, this.#head)
  }

  planOf(key: string): StepPlan {
    const plan = this.current.step(key)
    assert(plan, `the code has asked for ${key}`)
    return plan
  }

  /** There is no execution if the run ended before its history could be read. */
  dispose(): void {
    this.#execution?.dispose()
  }

  /** Shows what the code logged, now that its turn is committed. */
  showLogs(): void {
    if (this.#execution) showLogs(this.#context, this.#head, this.#execution)
  }

  // Some commands are complete once they are recorded, such as a signal to another run: the code is told in the same
  // turn.
  async #advance(turn: Turn, happened: readonly HistoryEvent[], now: Instant, replayedThrough = 0): Promise<void> {
    let commands = await this.current.advance(happened, now, replayedThrough)
    for (;;) {
      const before = turn.events.length
      const sends = commands.some(({ type }) => type === 'SendMessage')
      const receivers = sends ? await this.#receivers(commands) : undefined
      turn.command(commands, (step) => this.#isQueued(step), receivers)
      if (turn.ending || turn.continuation) return
      const done = turn.events.slice(before).filter(isDoneAtOnce)
      if (done.length === 0) return
      commands = await this.current.advance(done, now)
    }
  }

  async #receivers(commands: readonly Command[]): Promise<ReadonlyMap<string, Receiver>> {
    const receivers = new Map<string, Receiver>()
    for (const command of commands) {
      if (command.type !== 'SendMessage') continue
      const receiver = await receiverOf(this.#context.line, command.to)
      if (receiver) receivers.set(command.key, receiver)
    }
    return receivers
  }

  #isQueued(step: RunStep): boolean {
    const plan = this.current.step(step.key)
    if (step.kind !== 'activity' || !plan) return false
    return this.#context.slots.free === 0 || !this.#runsHere(step, plan)
  }

  #open(): void {
    assert(this.#decider, `a claimed run has code here: ${this.#head.name}`)
    this.#execution?.dispose()
    this.#execution = this.#decider.open(this.#head, this.#context.world)
    this.#execution.onBreak = this.#onBreak
  }
}

function isDoneAtOnce({ type }: HistoryEvent): boolean {
  return (
    type === 'MessageSent' ||
    type === 'AttributesSet' ||
    type === 'StreamWritten' ||
    type === 'CompensationBegan' ||
    type === 'CompensationEnded'
  )
}

/** The run that a message goes to, if there is one: the newest of a workflow id. */
async function receiverOf(line: StoreLine, to: SendMessage['to']): Promise<Receiver | undefined> {
  const runId = typeof to === 'string' ? to : await newestRun(line, to.workflowId)
  if (runId === undefined) return undefined
  const [loaded] = await line.send((store) => store.load([{ type: 'run', runId }]))
  const run = loaded?.type === 'run' ? loaded.run : undefined
  return { runId, hasEnded: run?.endedAt !== undefined }
}

async function newestRun(line: StoreLine, workflowId: string): Promise<string | undefined> {
  const [loaded] = await line.send((store) => store.load([{ type: 'named', workflowId }]))
  return loaded?.type === 'named' ? loaded.runId : undefined
}

/**
 * Steps that may have run when earlier holders died, as attempts that failed. A step that must not run twice never
 * begins before it is recorded, so it counts only if it was recorded before this turn.
 */
function interruptedSteps(
  state: RunState,
  turn: Turn,
  execution: Execution,
  deaths: number,
  now: Instant,
): LocalResult[] {
  const asked = new Set(turn.steps.map(({ key }) => key))
  return [...state.open].flatMap(([key, step]) => {
    // The store counts the attempts of a task; but a holder that ran this activity itself may have begun a step that is
    // queued only now.
    if (step.type !== 'step' || (step.queued && !asked.has(key))) return []
    // A step that was left to be completed from outside runs nowhere.
    if (step.left && (step.retryAt ?? 0) > now) return []
    const plan = execution.step(key)
    if (!plan || (asked.has(key) && plan.retry.maxAttempts === 1)) return []
    const attempt = Math.min(step.failed + deaths, plan.retry.maxAttempts)
    return [interrupted(key, step, plan, attempt, 'the worker died or lost its lease', now)]
  })
}
