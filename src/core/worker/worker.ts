// A worker: claims runs and tasks it has code for, holds them, and gives them back. It owns one session, one
// loop that claims, and everything that is held under it.

import { type Duration, milliseconds } from '../base/duration.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { barrierIsExact } from '../deciders/function/barrier.ts'
import { sleep } from '../runtime/clock.ts'
import { secret } from '../runtime/random.ts'
import type {
  Claimed,
  ClaimedRun,
  ClaimedTask,
  ClaimRequest,
  Hint,
  NewRun,
  Store,
} from '../stores/store.ts'
import { ClaimPlan, requestOf } from './claim-plan.ts'
import { storedMessage } from './commit.ts'
import { Directory } from './directory.ts'
import { Doorbell } from './doorbell.ts'
import { HeldRun } from './held-run.ts'
import { HeldTask } from './held-task.ts'
import type { HeldOutcome, RunHost } from './host.ts'
import { LateSessions } from './late-sessions.ts'
import { LeaseBook } from './lease-book.ts'
import { keepRejections } from './rejections.ts'
import { runHost } from './run-host.ts'
import { Session } from './session.ts'
import { Slots } from './slots.ts'
import { storePorts } from './step-ports.ts'
import { StepRunner } from './step-runner.ts'
import { StoreClock } from './store-clock.ts'
import { NoAnswer, StoreLine } from './store-line.ts'
import { type WarmRun, WarmRuns } from './warm.ts'
import { aboutWorker, type WorkerPorts, type WorkerSettings } from './worker-settings.ts'

type Phase = 'starting' | 'working' | 'draining' | 'stopped'

/** Does the work of this process: what `engine.work` gives. */
export class Worker {
  readonly id: string
  readonly ready: Promise<void>
  readonly #ports: WorkerPorts
  readonly #settings: WorkerSettings
  readonly #storeClock: StoreClock
  readonly #line: StoreLine
  readonly #late: LateSessions
  readonly #doorbell: Doorbell
  readonly #plan: ClaimPlan
  readonly #slots: Slots
  readonly #runner: StepRunner
  readonly #host: RunHost
  readonly #warm: WarmRuns
  readonly #directory: Directory
  readonly #runs = new Map<string, HeldRun>()
  readonly #tasks = new Map<string, HeldTask>()
  readonly #over = new AbortController()
  #session: Session
  #phase: Phase = 'starting'
  readonly #leases = new LeaseBook()
  #drained: Promise<void> | undefined
  #settled: () => void = () => {}

  /** @internal */
  constructor(ports: WorkerPorts, settings: WorkerSettings) {
    this.#ports = ports
    this.#settings = settings
    this.id = settings.id
    const { clock } = ports
    const lookAgain = (): void => this.#runs.forEach((held) => held.receive([]))
    this.#storeClock = new StoreClock(clock, lookAgain)
    this.#late = new LateSessions(clock)
    this.#line = new StoreLine(settings.id, ports, this.#over.signal)
    this.#doorbell = new Doorbell(clock)
    this.#slots = new Slots(settings.activities)
    this.#plan = new ClaimPlan(clock, settings.pollMs, () => ({
      runs: this.#runs.size,
      tasks: this.#tasks.size,
      runsMax: settings.workflows,
      freeSlots: this.#slots.free,
    }))
    this.#warm = new WarmRuns(settings.warm)
    const now = () => this.#storeClock.now()
    const mayWork = () => this.#session.alive
    const stored = storePorts(ports.store, (call) => this.#line.send(call))
    const { code: build } = settings
    const newSecret = () => secret(ports.random)
    const parts = { ...ports, ...stored, slots: this.#slots, now, mayWork, newSecret, build }
    this.#runner = new StepRunner(parts)
    this.#directory = new Directory(ports, settings)
    this.#host = runHost({
      ports,
      settings,
      storeClock: this.#storeClock,
      slots: this.#slots,
      runner: this.#runner,
      decider: (head, events) => this.#line.send(() => ports.deciders.of(head, events)),
      mayWork,
      cancelTask: (taskId) => this.#tasks.get(taskId)?.cancel(),
      send: (call) => this.#line.send(call),
    })
    this.#session = this.#newSession()
    this.ready = this.#start()
    this.ready.catch(() => {})
  }

  /** Step bodies under way in this worker. */
  get stepsRunning(): number {
    return this.#slots.busy
  }

  /** A lease a new run can be created with, if this worker would take it at once. @internal */
  offer(run: Pick<NewRun, 'runId' | 'name' | 'queue'>): NewRun['eager'] {
    if (this.#phase !== 'working' || !this.#session.alive || this.#plan.isQuiet) return undefined
    if (!this.#directory.begins(run) || !this.#settings.queues.includes(run.queue)) return undefined
    if (this.#runs.size >= this.#settings.workflows) return undefined
    const nonce = this.#ports.random.integer()
    this.#leases.offer(nonce)
    return { session: this.#session.id, nonce }
  }

  /**
   * Looks whether steps it has tasks of were cancelled.
   * @internal
   */
  lookAtTasks(): void {
    for (const task of this.#tasks.values()) void task.look()
  }

  /** Takes a run that was created with an offered lease. @internal */
  accept(claimed: ClaimedRun, isOld: boolean): void {
    if (claimed.lease.session !== this.#session.id || !this.#session.alive) return
    if (this.#leases.accept(claimed.lease.nonce) && !this.#isKnown(claimed))
      this.#hold(claimed, isOld)
  }

  /** Takes no new work, finishes what it holds, and gives back the rest after `grace`. */
  drain(grace: Duration = this.#settings.graceMs): Promise<void> {
    this.#drained ??= this.#drain(milliseconds(grace, 'grace'))
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
    this.#over.signal.addEventListener('abort', keepRejections())
    await this.#line.send(() => this.#session.open())
    await this.look()
    if (this.#phase !== 'starting') return
    this.#phase = 'working'
    this.#change('active')
    this.#over.signal.addEventListener(
      'abort',
      this.#ports.store.wake((hint) => this.#hear(hint)),
    )
    void this.#loop()
  }

  #hear(hint: Hint): void {
    if (hint.type === 'ended' || (hint.type === 'news' && hint.session !== this.#session.id)) return
    if (hint.type !== 'ready') this.#plan.expectNews()
    if (hint.type !== 'news') this.#directory.hear()
    this.#doorbell.ring()
  }

  async #loop(): Promise<void> {
    while (this.#phase === 'working') {
      try {
        if (!this.#session.alive) {
          this.#session = this.#newSession()
          await this.#line.send(() => this.#session.open())
        }
        if (this.#directory.dueInMs === 0) void this.look()
        this.#doorbell.ringWithin(this.#directory.dueInMs + 1)
        this.#doorbell.ringWithin(await this.#claim())
        await this.#doorbell.wait()
      } catch (error) {
        if (this.#over.signal.aborted) return
        this.#ports.logger.log('error', `worker ${this.id} could not claim work: ${String(error)}`)
        await sleep(this.#ports.clock, limits.storeRetryMsMax, this.#over.signal)
      }
    }
  }

  /** Looks for new definitions. @internal */
  async look(): Promise<void> {
    if (await this.#directory.look()) this.#doorbell.ring()
  }

  /** One claim. Answers how long to wait for the next, if nothing rings before. */
  async #claim(): Promise<number> {
    const session = this.#session
    const wish = this.#plan.wish()
    const { registry, random } = this.#ports
    const request = requestOf(wish, this.#settings, registry, this.#directory, {
      session: session.id,
      silent: this.#late.silent,
      nonce: random.integer(),
      held: wish.asksForNews ? [...this.#runs.keys()] : [],
      heldTasks: [...this.#tasks.keys()],
    })
    this.#leases.claims()
    const claimed = await this.#line.send((store) => this.#claimOnce(store, request))
    if (claimed.dead) session.die()
    if (!session.alive) return 0
    this.#take(claimed, this.#plan.inDoubt)
    this.#late.learn(claimed.late)
    const pauseMs = this.#plan.learn(wish, claimed, this.#storeClock.now())
    return Math.min(pauseMs, this.#late.dueInMs)
  }

  async #claimOnce(store: Store, request: ClaimRequest): Promise<Claimed> {
    try {
      const again = { reconcile: true, held: [...this.#runs.keys()] } as const
      const sent = this.#ports.clock.monotonic()
      const claimed = await store.claim({ ...request, ...(this.#plan.inDoubt && again) })
      this.#storeClock.heard(claimed.now, sent)
      return claimed
    } catch (error) {
      this.#plan.doubt(limits.reconcileTimes)
      throw error
    }
  }

  #take(claimed: Claimed, isOld: boolean): void {
    for (const run of claimed.runs) if (!this.#isKnown(run)) this.#hold(run, isOld)
    // The same task under another lease is another attempt; the answer to the one before is still on its way.
    for (const task of claimed.tasks) {
      if (this.#tasks.get(task.taskId)?.epoch !== task.lease.epoch) void this.#work(task)
    }
    for (const { runId, messages } of claimed.news) this.#runs.get(runId)?.receive(messages)
  }

  // What a claim gives again may have been taken over, or even let go, while its answer was on the way.
  #isKnown({ head, lease }: ClaimedRun): boolean {
    const { runId } = head
    if (this.#leases.wasLetGo({ runId, epoch: lease.epoch })) return true
    return this.#runs.get(runId)?.epoch === lease.epoch
  }

  // An old lease was granted before, and the run may have been worked on under it.
  #hold(claimed: ClaimedRun, isOld: boolean): void {
    const { runId } = claimed.head
    const { epoch, nonce } = claimed.lease
    const again = this.#leases.take({ runId, epoch }, nonce, isOld)
    const held = new HeldRun(this.#host, claimed, this.#warm.take(claimed), again)
    this.#runs.set(runId, held)
    if (this.#phase !== 'working') held.giveBack()
    void held.drive().then(
      (outcome) => this.#letGo(held, outcome),
      (error: unknown) => this.#stumble(held, error),
    )
  }

  #letGo(held: HeldRun, outcome: HeldOutcome): void {
    if (this.#runs.get(held.runId) === held) this.#runs.delete(held.runId)
    this.#leases.letGo(held)
    if (outcome.type === 'released') this.#remember(held.runId, outcome)
    if (outcome.type === 'ended') this.#ports.onEnded(held.runId, outcome.body)
    else this.#ports.onLetGo(held.runId)
    if (outcome.type === 'lost') this.#lost(held, outcome.began)
    if (outcome.type !== 'lost' && this.#plan.hasAppetite) this.#doorbell.ring()
    if (this.#runs.size + this.#tasks.size === 0) this.#settled()
  }

  #remember(runId: string, { warm, wakeAt }: Extract<HeldOutcome, { type: 'released' }>): void {
    if (warm) this.#keepWarm(runId, warm)
    if (wakeAt !== undefined) this.#doorbell.ringWithin(wakeAt - this.#storeClock.now())
  }

  // Code that wakes up by itself while its run is let go breaks the rules: the run is looked at again, and paused.
  #keepWarm(runId: string, warm: WarmRun): void {
    warm.execution.onBreak = () => {
      const id = `nudge:${this.#ports.random.integer()}`
      const message = storedMessage({ type: 'nudge', id })
      void this.#line.send((store) => store.post([{ runId, message }])).catch(() => {})
    }
    if (warm.execution.broken) warm.execution.onBreak()
    this.#warm.put(runId, warm)
  }

  // Not an outcome any run can have: a defect of ours, or a store that gave up. The lease is not to be trusted.
  #stumble(held: HeldRun, error: unknown): void {
    if (!(error instanceof NoAnswer)) {
      this.#ports.logger.log('error', `run ${held.runId} was dropped: ${String(error)}`)
    }
    this.#letGo(held, { type: 'lost', began: held.hasBegun })
    this.#session.die()
  }

  async #work(task: ClaimedTask): Promise<void> {
    const held = new HeldTask(task, this.#runner)
    this.#tasks.set(task.taskId, held)
    const outcome = await held.run()
    if (this.#tasks.get(task.taskId) !== held) return
    await this.#line
      .send((store) => store.settle([outcome]))
      .catch((error: unknown) => {
        if (!(error instanceof NoAnswer))
          this.#ports.logger.log('error', `a task was not settled: ${String(error)}`)
      })
    this.#forgetTask(held)
    if (this.#plan.hasAppetite) this.#doorbell.ring()
  }

  #forgetTask(held: HeldTask): void {
    if (this.#tasks.get(held.taskId) === held) this.#tasks.delete(held.taskId)
    if (this.#runs.size + this.#tasks.size === 0) this.#settled()
  }

  #newSession(): Session {
    const { store, clock, random, registry } = this.#ports
    const { leaseMs } = this.#settings
    const session: Session = new Session({
      store,
      clock,
      random,
      worker: this.id,
      leaseMs,
      about: () => aboutWorker(this.#settings, registry, this.#directory.workflows),
      heldTasks: () => [...this.#tasks.keys()],
      onLostTasks: (taskIds) => this.#loseTasks(taskIds),
      onDeath: () => this.#loseEverything(),
      onRenewed: (now, beat, sent) => this.#renewed(now, beat, sent),
      watch: this.#line,
    })
    return session
  }

  #renewed(now: number, beat: number, sent: number): void {
    this.#storeClock.heard(now, sent)
    if (beat % limits.renewalsPerReconcile === 0) this.#plan.doubt(1)
    this.lookAtTasks()
    if (this.#plan.inDoubt) this.#doorbell.ring()
  }

  #loseTasks(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const held = this.#tasks.get(taskId)
      held?.abort(new PawlError('WORKER_STOPPED', 'this task is not needed any more'))
      if (held) this.#forgetTask(held)
    }
  }

  #loseEverything(): void {
    this.#line.died(this.#runs.size, this.#tasks.size)
    this.#loseTasks([...this.#tasks.keys()])
    for (const held of [...this.#runs.values()])
      held.abandon('this worker could not renew its lease')
    this.#warm.clear()
    this.#leases.clear()
    this.#doorbell.ring()
  }

  // Perhaps the lease is still ours: then a later claim brings it back. Not at once: it may go wrong again.
  #lost(held: HeldRun, began: boolean): void {
    if (this.#session.alive) this.#plan.doubt(limits.reconcileTimes)
    if (this.#session.alive && began) this.#leases.cutOff(held)
    const { runId } = held
    const at = new Date(this.#ports.clock.now())
    this.#ports.bus.announce(() => ({ type: 'lease.lost', at, runId, worker: this.id }))
  }

  async #drain(graceMs: number): Promise<void> {
    const begun = this.#phase
    this.#phase = 'draining'
    this.#doorbell.ring()
    if (begun === 'starting') this.#over.abort()
    await this.ready.catch(() => {})
    this.#change('draining')
    for (const held of this.#runs.values()) held.giveBack()
    await this.#empty(graceMs)
    await this.#giveBackTasks()
    for (const held of this.#runs.values()) held.abortSteps()
    await this.#empty(limits.abortGraceMs)
    this.#phase = 'stopped'
    this.#over.abort()
    this.#doorbell.silence()
    this.#warm.clear()
    await this.#session.close().catch(() => {})
    this.#change('stopped')
  }

  async #empty(ms: number): Promise<void> {
    if (this.#runs.size + this.#tasks.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#settled = resolve
    const callOff = this.#ports.clock.after(ms, resolve)
    await promise
    callOff()
  }

  async #giveBackTasks(): Promise<void> {
    const tasks = [...this.#tasks.values()]
    this.#tasks.clear()
    if (tasks.length === 0) return
    await this.#ports.store.settle(tasks.map((task) => task.giveBack())).catch(() => {})
  }

  #change(status: 'active' | 'draining' | 'stopped'): void {
    const at = new Date(this.#ports.clock.now())
    this.#ports.bus.announce(() => ({ type: 'worker.changed', at, status, worker: this.id }))
  }
}
