// A worker: claims runs and tasks it has code for, holds them, and releases them. It owns one session, one loop that
// claims, and everything that is held under the session.

import { defined } from '../base/defined.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { type Duration, type Instant, milliseconds } from '../base/time.ts'
import { barrierIsExact } from '../deciders/function/barrier.ts'
import { sleep } from '../runtime/clock.ts'
import { secret } from '../runtime/random.ts'
import type { Claimed, ClaimedRun, ClaimedTask, ClaimRequest, Hint, NewRun, Store } from '../stores/store.ts'
import { announceHeld } from './announce.ts'
import { announceTask } from './announce-attempt.ts'
import { type ClaimBudget, ClaimPlan } from './claim-plan.ts'
import { storedMessage } from './commit.ts'
import type { EngineParts, WorkerContext } from './context.ts'
import { Directory } from './directory.ts'
import { type HeldOutcome, HeldRun } from './held-run.ts'
import { HeldTask } from './held-task.ts'
import { LateSessions } from './late-sessions.ts'
import { LeaseBook } from './lease-book.ts'
import { keepRejections } from './rejections.ts'
import { drive } from './run-loop.ts'
import { Session } from './session.ts'
import { Slots } from './slots.ts'
import { StoreClock } from './store-clock.ts'
import { NoAnswer, StoreLine } from './store-line.ts'
import { Waker } from './waker.ts'
import { type WarmRun, WarmRuns } from './warm.ts'
import { aboutWorker, type WorkerSettings } from './worker-settings.ts'

type Phase = 'starting' | 'working' | 'draining' | 'stopped'

/** What a claim left to do. */
export interface Outlook {
  /** Nothing that is due is left, as far as the claim could tell, and nothing is held. */
  readonly isDone: boolean
  /** When the next run or task is due. */
  readonly nextDue?: Instant
  /** When the next session of another worker will have missed a renewal. */
  readonly nextLate?: Instant
  /** How long until that becomes due here. */
  readonly dueInMs: number
  /** How long until a session that has missed a renewal can be freed. */
  readonly silentInMs: number
}

/** How busy a worker is. */
export interface WorkerLoad {
  readonly worker: string
  readonly runs: number
  readonly runsMax: number
  readonly steps: number
  readonly stepsMax: number
  readonly status: Phase
}

/** Does the work of this process: what `engine.work` gives. */
export class Worker {
  readonly id: string
  readonly ready: Promise<void>
  readonly #context: WorkerContext
  readonly #late: LateSessions
  readonly #waker: Waker
  readonly #plan: ClaimPlan
  readonly #warm: WarmRuns
  readonly #directory: Directory
  readonly #runs = new Map<string, HeldRun>()
  readonly #tasks = new Map<string, HeldTask>()
  readonly #leases = new LeaseBook()
  /** Aborted when the worker stops: then no call to the store is repeated any more. */
  readonly #stopped = new AbortController()
  #phase: Phase = 'starting'
  /** How long the last claim took. */
  #claimedInMs = 0
  #drained: Promise<void> | undefined
  /** Sessions that stopped themselves; newest first. */
  #dead: readonly Session[] = []
  #opening: Promise<void> = Promise.resolve()
  readonly #draining = Promise.withResolvers<void>()
  /** Called when nothing is held any more. */
  #onEmpty: () => void = () => {}
  /** Called after each claim. Returns how long to wait for the next one at most. @internal */
  onClaim: ((outlook: Outlook) => number) | undefined
  #graceMs = Number.POSITIVE_INFINITY
  /** Shortens the grace of a drain, also of one in progress. */
  #shorten: (graceMs: number) => void = (graceMs) => {
    this.#graceMs = Math.min(this.#graceMs, graceMs)
  }

  /** @internal */
  constructor(engine: EngineParts, settings: WorkerSettings) {
    const { clock, random } = engine
    this.id = settings.id
    const shared = {
      ...engine,
      settings,
      line: new StoreLine(settings.id, engine, this.#stopped.signal),
      storeClock: new StoreClock(clock, () => this.#wakeRuns()),
      world: { breathe: () => clock.breathe(), secret: () => secret(random) },
      slots: new Slots(settings.activities),
      tasks: this.#tasks,
      missingActivities: new Set<string>(),
    }
    this.#context = { ...shared, session: this.#newSession(shared) }
    this.#late = new LateSessions(clock)
    this.#waker = new Waker(clock)
    this.#plan = new ClaimPlan(clock, settings.pollMs, () => ({
      runs: this.#runs.size,
      tasks: this.#tasks.size,
      runsMax: settings.workflows,
      freeSlots: this.#context.slots.free,
    }))
    this.#warm = new WarmRuns(settings.warm)
    this.#directory = new Directory(engine, settings)
    this.ready = this.#start()
    this.ready.catch(() => {})
  }

  /** Resolves when the worker begins to drain. @internal */
  get draining(): Promise<void> {
    return this.#draining.promise
  }

  /** How many step bodies this worker runs. */
  get stepsRunning(): number {
    return this.#context.slots.busy
  }

  /** What it holds and runs, and how much of it at most. @internal */
  get load(): WorkerLoad {
    const { slots, settings } = this.#context
    const { workflows: runsMax, activities: stepsMax } = settings
    return { worker: this.id, runs: this.#runs.size, runsMax, steps: slots.busy, stepsMax, status: this.#phase }
  }

  /** It has stopped, and none of its step bodies runs on. @internal */
  get isOver(): boolean {
    return this.#phase === 'stopped' && this.stepsRunning === 0
  }

  /** A lease to create a new run with, if this worker would take the run at once. @internal */
  offer(run: Pick<NewRun, 'runId' | 'name' | 'queue'>): NewRun['eager'] {
    const { session, settings, random } = this.#context
    if (this.#phase !== 'working' || !session.alive || this.#plan.isForSuspects) return undefined
    if (!this.#directory.starts(run) || !settings.queues.includes(run.queue)) return undefined
    if (this.#runs.size >= settings.workflows) return undefined
    const nonce = random.integer()
    this.#leases.offer(nonce)
    return { session: session.id, nonce }
  }

  /** Takes a run that was created with an offered lease, now or by an earlier try. @internal */
  accept(claimed: ClaimedRun, wasGranted: boolean): void {
    const { session } = this.#context
    if (claimed.lease.session !== session.id || !session.alive) return
    if (this.#leases.accept(claimed.lease.nonce) && !this.#isKnown(claimed)) this.#hold(claimed, wasGranted)
  }

  /** Looks whether steps whose tasks it holds were cancelled. @internal */
  checkTasks(): void {
    for (const task of this.#tasks.values()) void task.checkCancelled()
  }

  /** Takes no new work, finishes what it holds, and releases the rest after `grace`. A second call may shorten it. */
  drain(grace?: Duration): Promise<void> {
    const graceMs = milliseconds(grace ?? this.#context.settings.graceMs, 'grace')
    if (!this.#drained || grace !== undefined) this.#shorten(graceMs)
    this.#drained ??= this.#drain()
    return this.#drained
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #start(): Promise<void> {
    if (!(await barrierIsExact())) {
      throw new PawlError(
        'NOT_SUPPORTED',
        'this JavaScript runtime orders microtasks in a way pawl cannot rely on. Run workers on Node 24 or newer.',
      )
    }
    const { line, store } = this.#context
    const { signal } = this.#stopped
    signal.addEventListener('abort', keepRejections())
    await line.send(() => this.#context.session.open())
    await this.look()
    if (this.#phase !== 'starting') return
    this.#phase = 'working'
    this.#announce('active')
    const stopHints = store.wake((hint) => this.#hear(hint))
    signal.addEventListener('abort', stopHints)
    void this.#loop()
  }

  #hear(hint: Hint): void {
    if (hint.type === 'ended' || hint.type === 'streamed') return
    if (hint.type === 'news' && hint.session !== this.#context.session.id) return
    if (hint.type !== 'ready') this.#plan.expectMessages()
    if (hint.type !== 'news') this.#directory.expectChange()
    this.#waker.wake()
  }

  async #loop(): Promise<void> {
    const { line, logger, clock } = this.#context
    while (this.#phase === 'working') {
      try {
        if (!this.#context.session.alive) await this.#reopen(line)
        if (this.#directory.dueInMs === 0) void this.look()
        this.#waker.wakeWithin(this.#directory.dueInMs + 1)
        this.#waker.wakeWithin(await this.#claim())
        await this.#waker.wait()
      } catch (error) {
        if (this.#stopped.signal.aborted) return
        logger.log('error', `worker ${this.id} could not claim work: ${String(error)}`)
        await sleep(clock, limits.storeRetryMsMax, this.#stopped.signal)
      }
    }
  }

  // The store may still know the session that is dead: it is closed at the end, unless it is silent before.
  async #reopen(line: StoreLine): Promise<void> {
    this.#dead = [this.#context.session, ...this.#dead].slice(0, limits.deadSessionsKept)
    // A single call has no time to wait until its own session is silent.
    if (this.onClaim) await this.#context.session.close().catch(() => {})
    const session = this.#newSession(this.#context)
    this.#context.session = session
    this.#opening = line.send(() => session.open())
    await this.#opening
  }

  /** Looks for new definitions. @internal */
  async look(): Promise<void> {
    if (await this.#directory.look()) this.#waker.wake()
  }

  /** One claim. Returns how long to wait for the next one, if nothing wakes the worker before. */
  async #claim(): Promise<number> {
    const { session, line, storeClock } = this.#context
    const budget = this.#plan.nextBudget()
    const request = this.#requestFor(budget)
    this.#leases.claiming()
    // What ends while the claim is on its way may make runs due that the claim did not see.
    const wasHolding = this.#runs.size + this.#tasks.size > 0
    const claimed = await line.send((store) => this.#claimOnce(store, request))
    if (claimed.dead) session.die()
    if (!session.alive) return 0
    this.#take(claimed, this.#plan.mustReconcile)
    this.#late.learn(claimed.late)
    const pauseMs = this.#plan.learn(budget, claimed, storeClock.now())
    if (this.onClaim && wasHolding && this.#plan.isDone) return 0
    const atMostMs = this.onClaim?.(this.#outlookOf(claimed)) ?? Number.POSITIVE_INFINITY
    return Math.min(pauseMs, this.#late.dueInMs, atMostMs)
  }

  #outlookOf({ nextDue, nextLate }: Claimed): Outlook {
    const dueInMs = (nextDue ?? Number.POSITIVE_INFINITY) - this.#context.storeClock.now()
    return { ...defined({ nextDue, nextLate }), isDone: this.#plan.isDone, dueInMs, silentInMs: this.#late.dueInMs }
  }

  #requestFor({ runs, suspects, tasks, messages }: ClaimBudget): ClaimRequest {
    const { session, settings, registry, random } = this.#context
    const { pins, workflows } = this.#directory
    return {
      session: session.id,
      silent: this.#late.silent,
      nonce: random.integer(),
      held: messages ? [...this.#runs.keys()] : [],
      heldTasks: [...this.#tasks.keys()],
      build: settings.build,
      ...(pins && { pins }),
      queues: settings.queues,
      workflows,
      activities: registry.activityNames,
      runs,
      suspects,
      tasks,
    }
  }

  async #claimOnce(store: Store, request: ClaimRequest): Promise<Claimed> {
    const { clock, storeClock } = this.#context
    try {
      const again = { reconcile: true, held: [...this.#runs.keys()] } as const
      const sent = clock.monotonic()
      const claimed = await store.claim({ ...request, ...(this.#plan.mustReconcile && again) })
      this.#claimedInMs = clock.monotonic() - sent
      storeClock.heard(claimed.now, sent)
      return claimed
    } catch (error) {
      this.#plan.reconcile(limits.reconcileTimes)
      throw error
    }
  }

  #take(claimed: Claimed, wasGranted: boolean): void {
    for (const run of claimed.runs) if (!this.#isKnown(run)) this.#hold(run, wasGranted)
    // The same task under another lease is another attempt; the outcome of the one before is being settled.
    for (const task of claimed.tasks)
      if (this.#tasks.get(task.taskId)?.epoch !== task.lease.epoch) void this.#work(task)
    for (const { runId, messages } of claimed.news) this.#runs.get(runId)?.receive(messages)
  }

  // A reconciling claim may return a run that was taken, or even released, while its answer was on the way.
  #isKnown({ head, lease }: ClaimedRun): boolean {
    const { runId } = head
    if (this.#leases.wasReleased({ runId, lease })) return true
    return this.#runs.get(runId)?.lease.nonce === lease.nonce
  }

  // A lease that was granted before may have been used since.
  #hold(claimed: ClaimedRun, wasGranted: boolean): void {
    const { runId } = claimed.head
    const earlier = this.#leases.take({ runId, lease: claimed.lease }, wasGranted)
    const held = new HeldRun(this.#context, claimed, this.#warm.take(claimed), earlier)
    this.#runs.set(runId, held)
    announceHeld(this.#context, held.head, 'run.claimed')
    if (this.#phase !== 'working') held.drain()
    void drive(held).then(
      (outcome) => this.#release(held, outcome),
      (error: unknown) => this.#drop(held, error),
    )
  }

  #release(held: HeldRun, outcome: HeldOutcome): void {
    const { runId } = held
    const { results } = this.#context
    if (this.#runs.get(runId) === held) this.#runs.delete(runId)
    this.#leases.release(held)
    if (outcome.type === 'released') this.#expectBack(runId, outcome)
    if (outcome.type === 'ended') results.ended(runId, outcome.body)
    else results.released(runId)
    if (outcome.type === 'lost') this.#lost(held, outcome.hasBegun)
    else if (this.#plan.wantsMore) this.#waker.wake()
    this.#checkEmpty()
  }

  #expectBack(runId: string, { warm, wakeAt }: Extract<HeldOutcome, { type: 'released' }>): void {
    if (warm) this.#keepWarm(runId, warm)
    if (wakeAt !== undefined) this.#waker.wakeWithin(wakeAt - this.#context.storeClock.now())
  }

  // Code that continues by itself while its run is released breaks the rules. A message wakes the run, which is then
  // paused.
  #keepWarm(runId: string, warm: WarmRun): void {
    const { line, random } = this.#context
    warm.execution.onBreak = () => {
      const id = `nudge:${random.integer()}`
      const message = storedMessage({ type: 'nudge', id })
      void line.send((store) => store.post([{ runId, message }])).catch(() => {})
    }
    if (warm.execution.broken) warm.execution.onBreak()
    this.#warm.put(runId, warm)
  }

  // No run can cause this: it is a defect of pawl, or the worker stopped before the store answered. The lease may be
  // lost.
  #drop(held: HeldRun, error: unknown): void {
    if (!(error instanceof NoAnswer))
      this.#context.logger.log('error', `run ${held.runId} was dropped: ${String(error)}`)
    this.#release(held, { type: 'lost', hasBegun: held.steps.hasBegun })
    this.#context.session.die()
  }

  // The lease may still be good: then a later claim brings it back. Not at once, because it may be lost again.
  #lost(held: HeldRun, hasBegun: boolean): void {
    const { session, clock, bus } = this.#context
    if (session.alive) this.#plan.reconcile(limits.reconcileTimes)
    if (session.alive && hasBegun) this.#leases.cutOff(held)
    const { runId } = held
    const at = new Date(clock.now())
    bus.announce(() => ({ type: 'lease.lost', at, runId, worker: this.id }))
  }

  async #work(task: ClaimedTask): Promise<void> {
    const { line, logger, clock } = this.#context
    const held = new HeldTask(this.#context, task)
    this.#tasks.set(task.taskId, held)
    const { of } = held
    if (of) announceTask(this.#context, of, { type: 'task.claimed', ms: this.#claimedInMs })
    const outcome = await held.run()
    if (this.#tasks.get(task.taskId) !== held) return
    const sent = clock.monotonic()
    await line
      .send((store) => store.settle([outcome]))
      .catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) logger.log('error', `a task was not settled: ${String(error)}`)
      })
    if (of) announceTask(this.#context, of, { type: 'task.settled', ms: clock.monotonic() - sent })
    this.#forgetTask(held)
    if (this.#plan.wantsMore) this.#waker.wake()
  }

  #forgetTask(held: HeldTask): void {
    if (this.#tasks.get(held.taskId) === held) this.#tasks.delete(held.taskId)
    this.#checkEmpty()
  }

  #checkEmpty(): void {
    if (this.#runs.size + this.#tasks.size > 0) return
    this.#onEmpty()
    if (this.onClaim) this.#waker.wake()
  }

  #newSession(shared: Omit<WorkerContext, 'session'>): Session {
    const { store, clock, random, registry, settings, line, storeClock } = shared
    return new Session({
      store,
      clock,
      random,
      worker: this.id,
      leaseMs: settings.leaseMs,
      about: () => aboutWorker(settings, registry, this.#directory.workflows),
      heldTasks: () => [...this.#tasks.keys()],
      onLostTasks: (taskIds) => this.#loseTasks(taskIds),
      onDeath: () => this.#loseEverything(),
      onRenewed: (now, beat, sent) => {
        storeClock.heard(now, sent)
        this.#renewed(beat)
      },
      watch: line,
    })
  }

  #renewed(beat: number): void {
    if (beat % limits.renewalsPerReconcile === 0) this.#plan.reconcile(1)
    this.checkTasks()
    if (this.#plan.mustReconcile) this.#waker.wake()
  }

  #wakeRuns(): void {
    for (const held of this.#runs.values()) held.waker.wake()
  }

  #loseTasks(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const held = this.#tasks.get(taskId)
      held?.abort(new PawlError('WORKER_STOPPED', 'this task is not needed any more'))
      if (held) this.#forgetTask(held)
    }
  }

  #loseEverything(): void {
    this.#context.line.died(this.#runs.size, this.#tasks.size)
    this.#loseTasks([...this.#tasks.keys()])
    for (const held of [...this.#runs.values()]) held.abandon('this worker could not renew its lease')
    this.#warm.clear()
    this.#leases.clear()
    this.#waker.wake()
  }

  async #drain(): Promise<void> {
    const before = this.#phase
    this.#phase = 'draining'
    this.#draining.resolve()
    this.#waker.wake()
    if (before === 'starting') this.#stopped.abort()
    await this.ready.catch(() => {})
    this.#announce('draining')
    for (const held of this.#runs.values()) held.drain()
    await this.#empty(this.#graceMs)
    await this.#releaseTasks()
    for (const held of this.#runs.values()) held.abortSteps()
    await this.#empty(limits.abortGraceMs)
    this.#phase = 'stopped'
    this.#stopped.abort()
    this.#waker.stop()
    this.#warm.clear()
    // A session that opens after it was closed would stay.
    await this.#opening.catch(() => {})
    await Promise.allSettled([this.#context.session, ...this.#dead].map((session) => session.close()))
    this.#announce('stopped')
  }

  /** Resolves when nothing is held any more, or after `ms`. */
  async #empty(ms: number): Promise<void> {
    if (this.#runs.size + this.#tasks.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEmpty = resolve
    const { clock } = this.#context
    const timers = [clock.after(ms, resolve)]
    this.#shorten = (sooner) => void timers.push(clock.after(sooner, resolve))
    await promise
    for (const stopTimer of timers) stopTimer()
  }

  async #releaseTasks(): Promise<void> {
    const tasks = [...this.#tasks.values()]
    this.#tasks.clear()
    if (tasks.length === 0) return
    await this.#context.store.settle(tasks.map((task) => task.release())).catch(() => {})
  }

  #announce(status: 'active' | 'draining' | 'stopped'): void {
    const { clock, bus } = this.#context
    const at = new Date(clock.now())
    bus.announce(() => ({ type: 'worker.changed', at, status, worker: this.id }))
  }
}
