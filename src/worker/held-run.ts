// A run while this worker holds it: turn after turn, until it is released, ends, or the lease is lost. Turns are
// strictly one after another; what happens meanwhile collects for the next one. Nothing a turn asks for is begun
// before the turn is durable, except what would be decided the same way again if this process died now.
import { assert } from '../kernel/assert.ts'
import { decodeMessage, decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { RunStep } from '../kernel/command.ts'
import type { Decider, Execution, StepPlan } from '../kernel/decider.ts'
import { CancelledError, PawlError } from '../kernel/errors.ts'
import type { HistoryEvent, Instant } from '../kernel/event.ts'
import { type Failure, failureOf } from '../kernel/failure.ts'
import { limits } from '../kernel/limits.ts'
import type { Message } from '../kernel/message.ts'
import { dueAt, type Head, type OpenStep, RunState, statusOf } from '../kernel/run.ts'
import { type LocalResult, Turn } from '../kernel/turn.ts'
import type {
  ClaimedRun,
  Committed,
  Next,
  StoredMessage,
  StoredTurn,
  TurnCommit,
} from '../stores/store.ts'
import { newTask, outbound, taskId, turnBody } from './commit.ts'
import type { WarmRun } from './warm.ts'

/** What a held run needs of its worker. */
export interface RunHost {
  readonly build: string
  readonly alwaysReplay: boolean
  now(): Instant
  after(ms: number, fire: () => void): () => void
  breathe(): Promise<void>
  turnId(): number
  decider(name: string): Decider | undefined
  history(runId: string, after: number): Promise<readonly StoredTurn[]>
  commit(turn: TurnCommit): Promise<Committed>
  /** Whether an activity should go to the task queue rather than run here. */
  queues(step: RunStep, plan: StepPlan, head: Head): boolean
  /** Runs a step body when a slot is free, and says how it ended. Nothing begins once the session is dead. */
  begin(
    head: Head,
    key: string,
    step: OpenStep,
    plan: StepPlan,
    attempt: number,
  ): RunningStep | undefined
  announce(head: Head, events: readonly HistoryEvent[]): void
  paused(head: Head, failure: Failure): void
  log(head: Head, execution: Execution): void
}

export interface RunningStep {
  readonly result: Promise<LocalResult>
  abort(reason: Error): void
}

export type HeldOutcome =
  | { readonly type: 'ended'; readonly body: string }
  | { readonly type: 'released'; readonly warm?: WarmRun; readonly wakeAt?: Instant }
  | { readonly type: 'lost' }

type Mood = 'working' | 'returning' | 'abandoned'

export class HeldRun {
  readonly runId: string
  readonly #host: RunHost
  readonly #claimed: ClaimedRun
  readonly #head: Head
  #state = new RunState()
  #execution!: Execution
  #history: HistoryEvent[] = []
  #bytes = 0
  /** Events of turns that are not durable yet, because they can be decided again. */
  #carried: HistoryEvent[] = []
  #durableSeq = 0
  #replayedThrough = 0
  #begun = false
  /** Deaths of earlier holders since the last durable turn, and the steps that may have been under way then. */
  #crashes = 0
  #interrupted = new Set<string>()
  #inbox: Message[] = []
  readonly #seen = new Set<string>()
  #results: LocalResult[] = []
  readonly #running = new Map<string, RunningStep>()
  #mood: Mood = 'working'
  #wake: () => void = () => {}

  constructor(host: RunHost, claimed: ClaimedRun, warm?: WarmRun) {
    this.#host = host
    this.#claimed = claimed
    this.runId = claimed.head.runId
    this.#head = headOf(claimed)
    if (warm) {
      this.#state = warm.state
      this.#execution = warm.execution
      this.#bytes = warm.bytes
      this.#durableSeq = warm.state.seq
      this.#begun = true
    }
    this.receive(claimed.messages)
  }

  get epoch(): number {
    return this.#claimed.lease.epoch
  }

  receive(messages: readonly StoredMessage[]): void {
    for (const { id, body } of messages) {
      if (this.#seen.has(id)) continue
      this.#seen.add(id)
      this.#inbox.push(decodeMessage(body))
    }
    this.#wake()
  }

  /** Finishes what is running, begins nothing, and gives the run back. */
  giveBack(): void {
    if (this.#mood === 'working') this.#mood = 'returning'
    this.#wake()
  }

  /** Waits no longer for what is running. Its attempts count as not made. */
  abortSteps(): void {
    for (const step of this.#running.values()) step.abort(new CancelledError('the worker stops'))
    this.#running.clear()
    this.#wake()
  }

  /** The lease is gone: whatever is under way stops, and nothing more is written. */
  abandon(reason: Error): void {
    this.#mood = 'abandoned'
    for (const step of this.#running.values()) step.abort(reason)
    this.#running.clear()
    this.#wake()
  }

  async drive(): Promise<HeldOutcome> {
    try {
      await this.#open()
      for (;;) {
        const outcome = await this.#turn()
        if (outcome) return outcome
        await this.#somethingHappens()
        if (this.#mood === 'abandoned') return this.#lose()
      }
    } catch (error) {
      if (this.#mood === 'abandoned') return this.#lose()
      return this.#park(error)
    }
  }

  async #open(): Promise<void> {
    const { deliveries, seq } = this.#claimed
    if (deliveries > limits.poisonDeliveries) throw poisoned(deliveries)
    if (this.#begun) return
    const fresh = deliveries === 1 && seq === 0
    const turns = fresh ? [] : await this.#load()
    this.#crashes = Math.min(deliveries - 1, this.#claimed.lease.epoch - (turns.at(-1)?.epoch ?? 0))
    for (const turn of turns) this.#replay(turn)
    assert(this.#state.seq >= seq, 'history reaches at least as far as the run was released')
    this.#durableSeq = this.#state.seq
    this.#replayedThrough = this.#state.seq
    if (this.#crashes > 0) this.#interrupted = new Set(this.#state.open.keys())
    this.#execution = this.#decider().open(this.#head, () => this.#host.breathe())
  }

  async #load(): Promise<StoredTurn[]> {
    const turns: StoredTurn[] = []
    for (let after = 0; ; ) {
      const page = await this.#host.history(this.runId, after)
      turns.push(...page)
      const last = page.at(-1)
      if (!last || page.length < limits.historyPageTurns) return turns
      after = last.seq + last.count
    }
  }

  #replay(turn: StoredTurn): void {
    assert(turn.seq === this.#state.seq, 'history has no gaps')
    this.#bytes += turn.body.length
    for (const event of decodeTurn(turn.body).events) this.#history.push(this.#state.apply(event))
  }

  async #turn(): Promise<HeldOutcome | undefined> {
    const now = this.#host.now()
    const turn = new Turn(this.#head, this.#state, now)
    turn.receive(this.#inbox.splice(0))
    turn.settle(this.#takeResults())
    turn.fireDue()
    this.#stopStrays()
    const first = !this.#begun
    if (first || turn.events.length > 0) await this.#decide(turn, now)
    if (this.#state.seq > limits.historyEventsMax) turn.ending = tooLong()
    if (turn.ending) return this.#end(turn)
    return this.#goOn(turn, now, first)
  }

  // A step counts as running until its result is part of a turn, so that nobody begins it again in between.
  #takeResults(): LocalResult[] {
    const results = this.#results.splice(0)
    for (const { key } of results) this.#running.delete(key)
    return results
  }

  async #decide(turn: Turn, now: Instant): Promise<void> {
    const happened = [...turn.events]
    const { alwaysReplay } = this.#host
    const cold = !this.#begun || alwaysReplay
    if (this.#begun && alwaysReplay) this.#reopen()
    this.#begun = true
    const given = cold ? [...this.#history, ...happened] : happened
    const commands = await this.#execution.advance(given, now, cold ? this.#replayedThrough : 0)
    turn.command(commands, (step) => this.#isQueued(step))
    this.#history = alwaysReplay ? [...this.#history, ...turn.events] : []
    this.#replayedThrough = this.#state.seq
  }

  #reopen(): void {
    this.#execution.dispose()
    this.#execution = this.#decider().open(this.#head, () => this.#host.breathe())
  }

  #decider(): Decider {
    const decider = this.#host.decider(this.#head.name)
    assert(decider, `a claimed run has code here: ${this.#head.name}`)
    return decider
  }

  // Continues the run: holds it while there is something to do here, and lets go of it otherwise.
  async #goOn(turn: Turn, now: Instant, first: boolean): Promise<HeldOutcome | undefined> {
    this.#carried.push(...turn.events)
    const ready = this.#mood === 'working' ? this.#readySteps(now) : []
    const busy = this.#running.size > 0 || ready.length > 0
    const soon = (this.#dueAt() ?? Number.POSITIVE_INFINITY) - now <= limits.holdForTimerMs
    const hold = busy || (soon && this.#mood === 'working') || this.#inbox.length > 0
    // What this turn would ask for again without anything new was asked for by those who died, too.
    if (first && turn.derivable) for (const { key } of turn.steps) this.#interrupted.add(key)
    if (hold && this.#mayWait(turn, now)) {
      this.#beginSteps(ready)
      return undefined
    }
    return this.#commitAndGoOn(turn, hold, ready)
  }

  async #commitAndGoOn(
    turn: Turn,
    hold: boolean,
    ready: readonly [string, OpenStep][],
  ): Promise<HeldOutcome | undefined> {
    const next: Next = hold ? { type: 'hold' } : this.#release()
    const tasks = turn.steps.filter((step) => this.#openStep(step.key)?.queued)
    const committed = await this.#commit(this.#carried, {
      consumed: [...turn.consumed],
      outbox: outbound(this.#head, turn.outgoing),
      tasks: tasks.map((step) => this.#taskFor(step.key)),
      dropped: turn.dropped.map((key) => taskId(this.#head, key)),
      next,
    })
    if (this.#mood === 'abandoned' || committed.outcome === 'fenced') return this.#lose()
    if (committed.outcome === 'rejected') return this.#fail(committed.reason)
    this.#durable(this.#carried.splice(0), turn.consumed)
    if (!hold) return this.#released()
    this.#beginSteps(ready)
    return undefined
  }

  async #end(turn: Turn): Promise<HeldOutcome> {
    this.#carried.push(...turn.events)
    for (;;) {
      const closing = turn.close()
      const events = [...this.#carried, closing.event]
      assert(turn.ending, 'an ending turn ends')
      const commit = {
        consumed: [...turn.consumed],
        outbox: outbound(this.#head, [...turn.outgoing, ...closing.outgoing]),
        tasks: [],
        dropped: [...turn.dropped, ...closing.dropped].map((key) => taskId(this.#head, key)),
        next: { type: 'end', status: statusOf(turn.ending) } as const,
      }
      const committed = await this.#commit(events, commit)
      if (this.#mood === 'abandoned' || committed.outcome === 'fenced') return this.#lose()
      if (committed.outcome === 'rejected') return this.#fail(committed.reason)
      if (committed.outcome !== 'more') return this.#ended(events)
      const before = turn.events.length
      turn.receive(committed.messages.map(({ body }) => decodeMessage(body)))
      this.#carried.push(...turn.events.slice(before))
    }
  }

  #ended(events: HistoryEvent[]): HeldOutcome {
    for (const step of this.#running.values()) step.abort(new CancelledError('the run ended'))
    this.#durable(events, [])
    this.#execution.dispose()
    return { type: 'ended', body: turnBody(this.#host.build, events) }
  }

  // A turn the store can never take must not come back for ever: the run fails, and says why.
  async #fail(reason: string): Promise<HeldOutcome> {
    const message = `a turn of this run cannot be stored: ${reason}`
    const failure: Failure = { type: 'TurnRejected', message, retryable: false }
    const at = Math.max(this.#state.at, this.#host.now())
    const event: HistoryEvent = { type: 'RunFailed', failure, at, seq: this.#durableSeq + 1 }
    for (let consumed: string[] = []; ; ) {
      const next = { type: 'end', status: 'failed' } as const
      const committed = await this.#commit([event], { ...nothing, consumed, next })
      if (committed.outcome !== 'more') {
        if (committed.outcome === 'applied' || committed.outcome === 'duplicate')
          return this.#ended([event])
        return this.#lose()
      }
      consumed = committed.messages.map(({ id }) => id)
    }
  }

  // Code and history do not fit, or the code waits for what pawl cannot see: not a failure of the run, and not
  // to be tried again by the same code. Nothing is written but the reason.
  async #park(error: unknown): Promise<HeldOutcome> {
    const failure = failureOf(error)
    for (const step of this.#running.values()) step.abort(new CancelledError('the run is paused'))
    const next: Next = { type: 'pause', build: this.#host.build, failure: JSON.stringify(failure) }
    const committed = await this.#commit([], { ...nothing, next })
    if (committed.outcome === 'fenced') return this.#lose()
    this.#host.paused(this.#head, failure)
    this.#execution?.dispose()
    return { type: 'released' }
  }

  #commit(
    events: readonly HistoryEvent[],
    rest: Pick<TurnCommit, 'consumed' | 'outbox' | 'tasks' | 'dropped' | 'next'>,
  ): Promise<Committed> {
    const { runId, lease, head } = { ...this.#claimed, runId: this.runId }
    const at = events.at(-1)?.at ?? this.#host.now()
    let body: string
    try {
      body = events.length === 0 ? '' : turnBody(this.#host.build, events)
    } catch (error) {
      return Promise.resolve({ outcome: 'rejected', reason: String(error) })
    }
    const { generation } = head
    const turnId = this.#host.turnId()
    const seq = this.#durableSeq
    this.#bytes += body.length
    const count = events.length
    return this.#host.commit({ runId, lease, generation, turnId, seq, count, at, body, ...rest })
  }

  #durable(events: readonly HistoryEvent[], consumed: readonly string[]): void {
    this.#durableSeq += events.length
    for (const id of consumed) this.#seen.delete(id)
    this.#host.announce(this.#head, events)
    this.#host.log(this.#head, this.#execution)
  }

  #release(): Next {
    const wakeAt = this.#mood === 'returning' ? this.#host.now() : this.#dueAt()
    const status = this.#mood === 'returning' ? 'running' : 'waiting'
    return { type: 'release', status, ...(wakeAt !== undefined && { wakeAt }) }
  }

  #released(): HeldOutcome {
    const wakeAt = this.#dueAt()
    const due = wakeAt === undefined ? {} : { wakeAt }
    if (this.#host.alwaysReplay) {
      this.#execution.dispose()
      return { type: 'released', ...due }
    }
    const { epoch } = this.#claimed.lease
    const warm = { execution: this.#execution, state: this.#state, epoch, bytes: this.#bytes }
    return { type: 'released', warm, ...due }
  }

  #lose(): HeldOutcome {
    for (const step of this.#running.values()) step.abort(new CancelledError('the lease was lost'))
    this.#execution?.dispose()
    return { type: 'lost' }
  }

  // Until then the run is this worker's alone, so its timers are too.
  #somethingHappens(): Promise<void> {
    if (this.#inbox.length > 0 || this.#results.length > 0 || this.#mood === 'abandoned') {
      return Promise.resolve()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const carried = this.#carried[0] ? this.#carried[0].at + limits.carryMsMax : Number.POSITIVE_INFINITY
    const wakeAt = Math.min(this.#dueAt() ?? Number.POSITIVE_INFINITY, carried)
    const pause = Math.max(0, wakeAt - this.#host.now())
    const callOff = Number.isFinite(pause) ? this.#host.after(pause, resolve) : () => {}
    this.#wake = resolve
    return promise.finally(() => {
      callOff()
      this.#wake = () => {}
    })
  }

  // A step that is running is not due, whatever its last retry said; nor is one today's code does not ask for.
  #dueAt(): Instant | undefined {
    return this.#state.wakeAt((key) => !this.#running.has(key) && this.#execution.step(key) !== undefined)
  }

  /** Steps that are open, not running, not queued and not waiting for a retry. */
  #readySteps(now: Instant): [string, OpenStep][] {
    const ready: [string, OpenStep][] = []
    for (const [key, open] of this.#state.open) {
      if (open.type !== 'step' || open.queued || this.#running.has(key)) continue
      if ((dueAt(open) ?? 0) <= now && this.#execution.step(key)) ready.push([key, open])
    }
    return ready
  }

  // Nothing needs to be durable yet if dying now would lose only that steps were begun, which history alone leads to
  // again; unless one of them must not be begun twice, or it has been so for a while and people may ask.
  #mayWait(turn: Turn, now: Instant): boolean {
    if (this.#carried.length === 0 && turn.consumed.length === 0) return true
    if (!turn.derivable || turn.consumed.length > 0 || turn.outgoing.length > 0) return false
    if (now - (this.#carried[0]?.at ?? now) >= limits.carryMsMax) return false
    return this.#carried.every(
      (event) =>
        event.type === 'StepStarted' && !event.queued && this.#planOf(event.key).retry.maxAttempts > 1,
    )
  }

  #beginSteps(ready: readonly [string, OpenStep][]): void {
    for (const [key, step] of ready) {
      const crashes = this.#interrupted.delete(key) ? this.#crashes : 0
      this.#begin(key, step, step.failed + 1 + crashes)
    }
  }

  #begin(key: string, step: OpenStep, attempt: number): void {
    const plan = this.#planOf(key)
    if (attempt > plan.retry.maxAttempts) {
      this.#results.push({ type: 'ended', key, outcome: workerDied(step, attempt - 1) })
      this.#wake()
      return
    }
    const running = this.#host.begin(this.#head, key, step, plan, attempt)
    if (!running) return
    this.#running.set(key, running)
    void running.result.then((result) => {
      if (this.#running.get(key) === running) this.#results.push(result)
      this.#wake()
    })
  }

  // Steps that were called off by a cancellation still run: they are told, and their results are not waited for.
  #stopStrays(): void {
    for (const [key, step] of this.#running) {
      if (this.#state.open.has(key)) continue
      step.abort(new CancelledError('the run was cancelled'))
      this.#running.delete(key)
    }
  }

  #isQueued(step: RunStep): boolean {
    const plan = this.#execution.step(step.key)
    if (step.kind !== 'activity' || !plan) return false
    return this.#host.queues(step, plan, this.#head)
  }

  #taskFor(key: string): TurnCommit['tasks'][number] {
    const step = this.#openStep(key)
    assert(step, 'a queued step is open')
    return newTask(this.#head, key, step, this.#planOf(key))
  }

  #openStep(key: string): OpenStep | undefined {
    const open = this.#state.open.get(key)
    return open?.type === 'step' ? open : undefined
  }

  #planOf(key: string): StepPlan {
    const plan = this.#execution.step(key)
    assert(plan, `the code has asked for ${key}`)
    return plan
  }
}

const nothing = { consumed: [], outbox: [], tasks: [], dropped: [] }

function headOf({ head }: ClaimedRun): Head {
  const { memo, input, ...rest } = head
  return {
    ...rest,
    input: decodePayload(input),
    ...(memo !== undefined && { memo: decodePayload(memo) }),
  }
}

function workerDied(
  step: OpenStep,
  attempt: number,
): Extract<LocalResult, { type: 'ended' }>['outcome'] {
  const message = `the worker died during attempt ${attempt} of step '${step.name}'`
  const cause = step.failure && { cause: step.failure }
  const failure: Failure = { type: 'WorkerDied', message, retryable: true, ...cause }
  return { ok: false, attempt, failure, reason: 'exhausted' }
}

function tooLong(): Turn['ending'] {
  const message = `the history of this run passed ${limits.historyEventsMax} events. Split the work into child workflows.`
  return { type: 'RunFailed', failure: { type: 'HistoryTooLong', message, retryable: false } }
}

function poisoned(deliveries: number): PawlError {
  return new PawlError(
    'TRY_LATER',
    `workers died ${deliveries - 1} times while they held this run, so it is kept from more of them. Find out what kills the process (memory, process.exit, an endless loop), then deploy a new build.`,
  )
}
