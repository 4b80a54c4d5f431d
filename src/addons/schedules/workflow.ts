// A schedule is a run of this workflow: it sleeps until the next slot, starts the run for it, and handles control
// messages. Each slot is started once with any number of workers, because one worker at a time holds the run.
import { defined } from '../../core/base/defined.ts'
import { CancelledError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { encode } from '../../core/base/value.ts'
import {
  type AnyWorkflowContract,
  type Child,
  type Context,
  SCHEDULE,
  signal,
  type TerminableChild,
  TIMEOUT,
  workflow,
} from '../../core/index.ts'
import { type Control, changed } from './change.ts'
import {
  attributesOf,
  type Backfill,
  catchUpMs,
  lastSlot,
  nextSlot,
  type Overlap,
  type ScheduleSpec,
  type ScheduleState,
  shortNote,
  slotRunId,
  slotsOf,
  whenText,
} from './state.ts'

/** The queue of schedules, apart from users' work. */
export const SCHEDULES_QUEUE = 'pawl.schedules'

export const control = signal<Control>('control')

export const schedule = workflow(
  SCHEDULE,
  // A schedule outlives builds.
  { queue: SCHEDULES_QUEUE, pin: false },
  async (ctx, state: ScheduleState): Promise<void> => {
    const scheduler = new Scheduler(ctx, state)
    ctx.on(control, (message) => scheduler.receive(message))
    while (!(await scheduler.isDeleted())) {
      if (scheduler.needsNewGeneration) return ctx.continueAsNew(scheduler.state)
      await scheduler.nextRound()
    }
  },
)

class Scheduler {
  readonly #ctx: Context
  readonly #id: string
  #spec: ScheduleSpec
  #paused: boolean
  #note: string | undefined
  #after: Instant
  #lastRunId: string | undefined
  /** The run that the next one must not overlap with. */
  #running: Child<unknown> | undefined
  /** The slot to start when that run has ended. */
  #buffered: Instant | undefined
  /** The overlap policy that cancelled or terminated that run. */
  #stopping: Overlap | undefined
  /** Number of runs in progress that the schedule does not wait for. */
  #unawaited = 0
  #backfills: Backfill[]
  #missed: number
  #lastMissed: Instant | undefined
  #isWoken = false
  #isNewSpec = false
  #isDeletePending = false
  #rounds = 0
  /** Bytes of history that one run takes, and that all runs of this generation have taken. */
  #runBytes: number
  #historyBytes = 0

  constructor(ctx: Context, state: ScheduleState) {
    this.#ctx = ctx
    this.#id = state.id
    this.#spec = state.spec
    this.#runBytes = sizeOf(textOf(state.spec))
    this.#paused = state.paused
    this.#note = state.note
    this.#after = state.after ?? ctx.now()
    this.#lastRunId = state.lastRunId
    this.#buffered = state.buffered
    this.#backfills = [...(state.backfills ?? [])]
    this.#missed = state.missed ?? 0
    this.#lastMissed = state.lastMissed
    this.#publish()
  }

  get state(): ScheduleState {
    return defined({
      id: this.#id,
      spec: this.#spec,
      paused: this.#paused,
      after: this.#after,
      note: this.#note === undefined ? undefined : shortNote(this.#note),
      lastRunId: this.#lastRunId,
      buffered: this.#buffered,
      backfills: this.#backfills.length > 0 ? this.#backfills : undefined,
      missed: this.#missed > 0 ? this.#missed : undefined,
      lastMissed: this.#lastMissed,
    })
  }

  /** True if the history is long or its plan was replaced, and a new generation would lose nothing. */
  get needsNewGeneration(): boolean {
    // A new generation would not learn of the end of a run that this one started.
    if (this.#running !== undefined || this.#backfills.length > limits.backfillsCarried) return false
    const isLong = this.#rounds >= limits.scheduleRounds || this.#historyBytes >= limits.scheduleHistoryBytes
    // It is also begun before the results of many unawaited runs exceed the size of a turn.
    return this.#isNewSpec || isLong || this.#unawaited >= limits.scheduleOthersMax
  }

  /** Whether it was deleted. Messages that arrived together are read first: one of them may set it again. */
  async isDeleted(): Promise<boolean> {
    if (this.#isDeletePending) await nextTurn(this.#ctx)
    return this.#isDeletePending
  }

  receive(message: Control): void {
    this.#isWoken = true
    switch (message.do) {
      case 'set':
        if (this.#isDeletePending) this.#startOver()
        this.#setSpec(message.spec, message.asOf)
        if (message.paused !== undefined) this.#setPaused(message.paused, message.note)
        return
      case 'change':
        return this.#change(message)
      case 'pause':
        return this.#setPaused(true, message.note)
      case 'resume':
        return this.#setPaused(false, undefined)
      case 'backfill': {
        const { from, to } = message
        this.#backfills.push({ from, to, left: limits.backfillSlotsMax })
        return
      }
      case 'delete':
        this.#isDeletePending = true
    }
  }

  /** Waits for the next slot or message and handles it. */
  async nextRound(): Promise<void> {
    this.#rounds++
    this.#startBuffered()
    // Each portion gets its own turn, so that no turn is larger than a store accepts.
    const filled = this.#startBackfill()
    if (filled && this.needsNewGeneration) return
    if (filled) await nextTurn(this.#ctx)
    const next = this.#paused || this.#isBusy ? undefined : nextSlot(this.#spec, this.#after)
    const jitter = next === undefined ? 0 : Math.floor(this.#ctx.random() * this.#spec.jitterMs)
    const wait = next === undefined ? undefined : Math.max(0, next + jitter - this.#ctx.now())
    if (filled && this.#backfills.length > 0 && wait !== 0) return
    const isWoken = (): boolean => this.#isWoken
    // A longer wait is split into several timers.
    const timeout = Math.min(wait ?? 0, limits.durationMsMax)
    const woken = wait === undefined ? await this.#ctx.wait(isWoken) : await this.#ctx.wait(isWoken, { timeout })
    this.#isWoken = false
    if (woken === TIMEOUT && next !== undefined && timeout === wait) this.#takeDue(next, jitter)
    this.#publish()
  }

  // While this is true, no slot is taken.
  get #isBusy(): boolean {
    if (this.#running === undefined) return false
    const { overlap } = this.#spec
    const isFull = overlap === 'bufferOne' && this.#buffered !== undefined
    return overlap === 'skip' || isFull || this.#isReplacing
  }

  // Slots after the one that replaces a run wait until that run has ended.
  get #isReplacing(): boolean {
    return this.#running !== undefined && this.#stopping === this.#spec.overlap
  }

  // How many slots one turn starts; the more bytes a run takes, the fewer.
  get #slotsPerTurn(): number {
    return Math.max(1, Math.floor(limits.turnSlotBytes / this.#runBytes))
  }

  /** Starts a portion of the first backfill. Returns false if it started nothing. */
  #startBackfill(): boolean {
    const [first, ...others] = this.#backfills
    if (first === undefined) return false
    const { to, left } = first
    // While the schedule waits for a run it cannot begin a new generation, so it limits the unawaited runs.
    const room = limits.scheduleOthersMax - this.#unawaited
    const limit = Math.min(this.#slotsPerTurn, left, this.#running ? room : left)
    if (limit <= 0) return false
    const { slots, more } = slotsOf(this.#spec, first.from, to, limit)
    for (const slot of slots) this.#start(slot, true)
    const rest = { from: slots.at(-1) ?? to, to, left: left - slots.length }
    this.#backfills = more && rest.left > 0 ? [rest, ...others] : others
    return true
  }

  // The timer of this slot has fired. If no worker ran for a while, later slots are due, too.
  #takeDue(first: Instant, jitter: number): void {
    const now = this.#ctx.now()
    for (const slot of this.#dueSlots(first, now, now - jitter)) {
      this.#after = slot
      this.#take(slot)
      if (this.#isReplacing) return
    }
  }

  /** The slots to take until now. `due` is now without the jitter; all slots before the result count as handled. */
  #dueSlots(first: Instant, now: Instant, due: Instant): readonly Instant[] {
    const { catchUp } = this.#spec
    // A slot before `late` was missed; a slot before `oldest` is not made up.
    const late = due - limits.scheduleLateMs
    const oldest = Math.min(late, due - catchUpMs(this.#spec))
    const end = catchUp === 'all' ? oldest : late
    if (first >= end) return slotsOf(this.#spec, first - 1, now, this.#slotsPerTurn).slots
    const last = lastSlot(this.#spec, first, end - 1)
    const { slots } = slotsOf(this.#spec, last, now, this.#slotsPerTurn)
    const isMadeUp = catchUp === 'one' && slots.length === 0 && last >= oldest
    this.#skip(first, isMadeUp ? last - 1 : last)
    this.#after = last
    return isMadeUp ? [last] : slots
  }

  // Records the slots in [first, to] as missed. The count stops at a limit.
  #skip(first: Instant, to: Instant): void {
    if (to < first) return
    this.#missed += slotsOf(this.#spec, first - 1, to, limits.missedCountedMax).slots.length
    this.#lastMissed = lastSlot(this.#spec, first, to)
  }

  // Applies the overlap policy to a slot that is due.
  #take(slot: Instant): void {
    const { overlap } = this.#spec
    const running = this.#running
    if (overlap === 'allow' || running === undefined) return this.#start(slot)
    if (overlap === 'skip') return
    if (overlap === 'bufferOne') {
      this.#buffered ??= slot
      return
    }
    this.#buffered = slot
    this.#stopping = overlap
    if (overlap === 'replace') running.cancel('the next run of its schedule is due')
    else stop(running)
  }

  // Called in the next round, so that the loop can begin a new generation first, which carries the slot along.
  #startBuffered(): void {
    const slot = this.#buffered
    if (slot === undefined || this.#running !== undefined) return
    this.#buffered = undefined
    if (!this.#paused) this.#start(slot)
  }

  // Children are identified by their order and not by their slots, because the slots of a time zone can change with the
  // version of the runtime.
  #start(slot: Instant, isBackfill = false): void {
    const { workflow: name, own, input, run, overlap } = this.#spec
    const contract = { is: 'workflow', name } as AnyWorkflowContract
    const child = this.#ctx.child(contract, input as never, {
      ...own,
      ...run,
      workflowId: slotRunId(this.#id, slot),
      attributes: { ...run.attributes, schedule: this.#id, slot: new Date(slot) },
      parentClose: 'abandon',
    })
    this.#lastRunId = child.runId
    this.#historyBytes += this.#runBytes
    const isUnawaited = overlap === 'allow' || isBackfill
    const ended = (): void => (isUnawaited ? this.#unawaitedEnded() : this.#ended(child))
    child.then(ended, ended)
    if (isUnawaited) {
      this.#unawaited++
      return
    }
    this.#running = child
    this.#stopping = undefined
  }

  #ended(child: Child<unknown>): void {
    if (this.#running !== child) return
    // Slots that were due while the run was in progress are skipped, not missed.
    if (this.#isBusy && !this.#isReplacing) this.#after = Math.max(this.#after, this.#ctx.now())
    this.#running = undefined
    this.#isWoken = true
  }

  #unawaitedEnded(): void {
    this.#unawaited--
    if (this.#backfills.length > 0) this.#isWoken = true
  }

  // Resets everything to a new schedule.
  #startOver(): void {
    this.#isDeletePending = false
    this.#after = this.#ctx.now()
    this.#running = undefined
    this.#buffered = undefined
    this.#backfills = []
    this.#lastRunId = undefined
    this.#missed = 0
    this.#lastMissed = undefined
    this.#setPaused(false, undefined)
  }

  #change({ change, paused, note, asOf }: Extract<Control, { do: 'change' }>): void {
    if (this.#isDeletePending) return
    const spec = changed(this.#spec, change)
    if (spec === this.#spec)
      this.#ctx.log.warn('a change of a schedule was ignored: its plan would be too large', {
        schedule: this.#id,
      })
    this.#setSpec(spec, asOf)
    if (paused !== undefined && paused !== this.#paused) this.#setPaused(paused, this.#note)
    if (note !== undefined) this.#note = note ?? undefined
  }

  #setSpec(spec: ScheduleSpec, asOf: Instant | undefined): void {
    const text = textOf(spec)
    if (text === textOf(this.#spec)) return
    // Slots of the new timing before the change are not late.
    if (asOf !== undefined && whenText(spec) !== whenText(this.#spec))
      this.#after = Math.max(this.#after, Math.min(asOf, this.#ctx.now()))
    this.#isNewSpec = true
    this.#spec = spec
    this.#runBytes = sizeOf(text)
  }

  #setPaused(paused: boolean, note: string | undefined): void {
    // Slots that were due during the pause are not caught up on.
    if (this.#paused && !paused) this.#after = this.#ctx.now()
    this.#paused = paused
    this.#note = note
  }

  // Publishes the state as attributes, which can be read without code.
  #publish(): void {
    const attributes = attributesOf(this.state, this.#after)
    const text = JSON.stringify(attributes)
    if (text === this.#published) return
    this.#published = text
    this.#ctx.setAttributes(attributes)
  }

  #published = ''
}

// Ends the turn, so that its requests are committed, and resumes with whichever comes first: the side effect needs no
// clock, the timer no free slot for steps. The side effect may fail if a worker dies, which does not matter.
async function nextTurn(ctx: Context): Promise<void> {
  const branches = { step: ctx.sideEffect(() => null), timer: ctx.sleep(0) }
  await ctx.race(branches).catch((error: unknown) => {
    if (error instanceof CancelledError) throw error
  })
}

/** The whole plan as text, encoded because an input may hold more than JSON. */
function textOf(spec: ScheduleSpec): string {
  return JSON.stringify(encode(spec, 'a schedule'))
}

// Even the smallest run takes an event or two.
function sizeOf(text: string): number {
  return Math.max(text.length, limits.scheduleRunBytes)
}

function stop(child: Child<unknown>): void {
  const terminable = child as TerminableChild
  terminable.terminate('the next run of its schedule is due')
}
