// A schedule is a run of this workflow: it sleeps until the next slot, starts the run for it, and hears what people say
// meanwhile. That any number of workers start a slot once follows from a run being held by one of them at a time.

import { CancelledError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
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

/** Where schedules are kept, apart from users' work. */
export const SCHEDULES_QUEUE = 'pawl.schedules'

export const control = signal<Control>('control')

export const schedule = workflow(
  SCHEDULE,
  // A schedule outlives builds.
  { queue: SCHEDULES_QUEUE, pin: false },
  async (ctx, state: ScheduleState): Promise<void> => {
    const keeper = new Keeper(ctx, state)
    ctx.on(control, (message) => keeper.hear(message))
    while (!(await keeper.isGone())) {
      if (keeper.isWornOut) return ctx.continueAsNew(keeper.state)
      await keeper.goOn()
    }
  },
)

class Keeper {
  readonly #ctx: Context
  readonly #id: string
  #spec: ScheduleSpec
  #paused: boolean
  #note: string | undefined
  #after: Instant
  #lastRunId: string | undefined
  /** The run that the next one must not overlap with. */
  #running: Child<unknown> | undefined
  /** The slot that is started when that run has ended. */
  #buffered: Instant | undefined
  /** The rule by which that run was told to stop. */
  #stopping: Overlap | undefined
  /** Runs under way that it does not wait for. */
  #others = 0
  #backfills: Backfill[]
  #missed: number
  #lastMissed: Instant | undefined
  #isNews = false
  #isNewSpec = false
  #isOver = false
  #rounds = 0
  /** What one of its runs takes in its history, and what those started so far do. */
  #size: number
  #bytes = 0

  constructor(ctx: Context, state: ScheduleState) {
    this.#ctx = ctx
    this.#id = state.id
    this.#spec = state.spec
    this.#size = sizeOf(textOf(state.spec))
    this.#paused = state.paused
    this.#note = state.note
    this.#after = state.after ?? ctx.now()
    this.#lastRunId = state.lastRunId
    this.#buffered = state.buffered
    this.#backfills = [...(state.backfills ?? [])]
    this.#missed = state.missed ?? 0
    this.#lastMissed = state.lastMissed
    this.#show()
  }

  get state(): ScheduleState {
    return {
      id: this.#id,
      spec: this.#spec,
      paused: this.#paused,
      after: this.#after,
      ...(this.#note !== undefined && { note: shortNote(this.#note) }),
      ...(this.#lastRunId !== undefined && { lastRunId: this.#lastRunId }),
      ...(this.#buffered !== undefined && { buffered: this.#buffered }),
      ...(this.#backfills.length > 0 && { backfills: this.#backfills }),
      ...(this.#missed > 0 && { missed: this.#missed }),
      ...(this.#lastMissed !== undefined && { lastMissed: this.#lastMissed }),
    }
  }

  /** Its history is long enough, or not that of its plan any more; and there is nothing it would forget. */
  get isWornOut(): boolean {
    // A new history would not hear of the end of a run that this one has started.
    if (this.#running !== undefined || this.#backfills.length > limits.backfillsCarried)
      return false
    const isLong =
      this.#rounds >= limits.scheduleRounds || this.#bytes >= limits.scheduleHistoryBytes
    // Nor of what they gave, which for many at once would be more than a turn can hold.
    return this.#isNewSpec || isLong || this.#others >= limits.scheduleOthersMax
  }

  /** Whether it was deleted, and not set again at once: what was said together is heard before it ends. */
  async isGone(): Promise<boolean> {
    if (this.#isOver) await nextTurn(this.#ctx)
    return this.#isOver
  }

  hear(message: Control): void {
    this.#isNews = true
    switch (message.do) {
      case 'set':
        if (this.#isOver) this.#beginAgain()
        this.#plan(message.spec, message.asOf)
        if (message.paused !== undefined) this.#rest(message.paused, message.note)
        return
      case 'change':
        return this.#change(message)
      case 'pause':
        return this.#rest(true, message.note)
      case 'resume':
        return this.#rest(false, undefined)
      case 'backfill': {
        const { from, to } = message
        this.#backfills.push({ from, to, left: limits.backfillSlotsMax })
        return
      }
      case 'delete':
        this.#isOver = true
    }
  }

  /** Waits for whatever comes first, and acts on it. */
  async goOn(): Promise<void> {
    this.#rounds++
    this.#startBuffered()
    // Each portion is a turn of its own: no turn is larger than a store takes.
    const filled = this.#fillIn()
    if (filled && this.isWornOut) return
    if (filled) await nextTurn(this.#ctx)
    const next = this.#paused || this.#isBusy ? undefined : nextSlot(this.#spec, this.#after)
    const jitter = next === undefined ? 0 : Math.floor(this.#ctx.random() * this.#spec.jitterMs)
    const wait = next === undefined ? undefined : Math.max(0, next + jitter - this.#ctx.now())
    if (filled && this.#backfills.length > 0 && wait !== 0) return
    const isNews = (): boolean => this.#isNews
    // Nothing waits for longer than a timer can; then it looks again.
    const timeout = Math.min(wait ?? 0, limits.durationMsMax)
    const heard =
      wait === undefined ? await this.#ctx.wait(isNews) : await this.#ctx.wait(isNews, { timeout })
    this.#isNews = false
    if (heard === TIMEOUT && next !== undefined && timeout === wait) this.#due(next, jitter)
    this.#show()
  }

  // No slot is taken as long as this is so.
  get #isBusy(): boolean {
    if (this.#running === undefined) return false
    const { overlap } = this.#spec
    const isFull = overlap === 'bufferOne' && this.#buffered !== undefined
    return overlap === 'skip' || isFull || this.#isReplacing
  }

  // The slots behind the one that replaces a run wait until that has ended.
  get #isReplacing(): boolean {
    return this.#running !== undefined && this.#stopping === this.#spec.overlap
  }

  // Slots that one turn starts: large ones take their turns.
  get #portion(): number {
    return Math.max(1, Math.floor(limits.turnSlotBytes / this.#size))
  }

  /** Starts a portion of what is to be filled in, and says whether there was any. */
  #fillIn(): boolean {
    const [first, ...others] = this.#backfills
    if (first === undefined) return false
    const { to, left } = first
    // As long as it has to hear of a run, it hears of all: then there are few at a time.
    const room = limits.scheduleOthersMax - this.#others
    const limit = Math.min(this.#portion, left, this.#running ? room : left)
    if (limit <= 0) return false
    const { slots, more } = slotsOf(this.#spec, first.from, to, limit)
    for (const slot of slots) this.#start(slot, true)
    const rest = { from: slots.at(-1) ?? to, to, left: left - slots.length }
    this.#backfills = more && rest.left > 0 ? [rest, ...others] : others
    return true
  }

  // Time is over for this slot, and perhaps for others behind it, if nobody was there to notice.
  #due(first: Instant, jitter: number): void {
    const now = this.#ctx.now()
    for (const slot of this.#dueSlots(first, now, now - jitter)) {
      this.#after = slot
      this.#take(slot)
      if (this.#isReplacing) return
    }
  }

  /** The slots to take of those up to now, which jitter may have put off from `due`. Others are behind it then. */
  #dueSlots(first: Instant, now: Instant, due: Instant): readonly Instant[] {
    const { catchUp } = this.#spec
    // A slot before `late` was missed, and one before `oldest` is not made up.
    const late = due - limits.scheduleLateMs
    const oldest = Math.min(late, due - catchUpMs(this.#spec))
    const end = catchUp === 'all' ? oldest : late
    if (first >= end) return slotsOf(this.#spec, first - 1, now, this.#portion).slots
    const last = lastSlot(this.#spec, first, end - 1)
    const { slots } = slotsOf(this.#spec, last, now, this.#portion)
    const isMadeUp = catchUp === 'one' && slots.length === 0 && last >= oldest
    this.#miss(first, isMadeUp ? last - 1 : last)
    this.#after = last
    return isMadeUp ? [last] : slots
  }

  // Slots in [first, to] are passed over. Very many are not counted one by one.
  #miss(first: Instant, to: Instant): void {
    if (to < first) return
    this.#missed += slotsOf(this.#spec, first - 1, to, limits.missedCountedMax).slots.length
    this.#lastMissed = lastSlot(this.#spec, first, to)
  }

  // A slot has come: what is under way decides what becomes of it.
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

  // Not before the loop has had a chance to begin a new history, which takes the slot with it.
  #startBuffered(): void {
    const slot = this.#buffered
    if (slot === undefined || this.#running !== undefined) return
    this.#buffered = undefined
    if (!this.#paused) this.#start(slot)
  }

  // Children are told apart by their order, and not by their slots: what a slot is may change with the rules of a time
  // zone, which come with the runtime.
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
    this.#bytes += this.#size
    const isOther = overlap === 'allow' || isBackfill
    const ended = (): void => (isOther ? this.#otherEnded() : this.#ended(child))
    child.then(ended, ended)
    if (isOther) {
      this.#others++
      return
    }
    this.#running = child
    this.#stopping = undefined
  }

  #ended(child: Child<unknown>): void {
    if (this.#running !== child) return
    // What came while it ran is skipped, and not late.
    if (this.#isBusy && !this.#isReplacing) this.#after = Math.max(this.#after, this.#ctx.now())
    this.#running = undefined
    this.#isNews = true
  }

  #otherEnded(): void {
    this.#others--
    if (this.#backfills.length > 0) this.#isNews = true
  }

  // As if it were a new one.
  #beginAgain(): void {
    this.#isOver = false
    this.#after = this.#ctx.now()
    this.#running = undefined
    this.#buffered = undefined
    this.#backfills = []
    this.#lastRunId = undefined
    this.#missed = 0
    this.#lastMissed = undefined
    this.#rest(false, undefined)
  }

  #change({ change, paused, note, asOf }: Extract<Control, { do: 'change' }>): void {
    if (this.#isOver) return
    const spec = changed(this.#spec, change)
    if (spec === this.#spec)
      this.#ctx.log.warn('a change of a schedule was refused: its plan would be too large', {
        schedule: this.#id,
      })
    this.#plan(spec, asOf)
    if (paused !== undefined && paused !== this.#paused) this.#rest(paused, this.#note)
    if (note !== undefined) this.#note = note ?? undefined
  }

  #plan(spec: ScheduleSpec, asOf: Instant | undefined): void {
    const text = textOf(spec)
    if (text === textOf(this.#spec)) return
    // What another timing would have been due at before is not late.
    if (asOf !== undefined && whenText(spec) !== whenText(this.#spec))
      this.#after = Math.max(this.#after, Math.min(asOf, this.#ctx.now()))
    this.#isNewSpec = true
    this.#spec = spec
    this.#size = sizeOf(text)
  }

  #rest(paused: boolean, note: string | undefined): void {
    // What came while it rested is not caught up on.
    if (this.#paused && !paused) this.#after = this.#ctx.now()
    this.#paused = paused
    this.#note = note
  }

  // What people see of it, without its code.
  #show(): void {
    const shown = attributesOf(this.state, this.#after)
    const text = JSON.stringify(shown)
    if (text === this.#shown) return
    this.#shown = text
    this.#ctx.setAttributes(shown)
  }

  #shown = ''
}

// What was asked for so far is written. A step is done without time, and a timer without a free slot for steps; that a
// step of no use may fail, when a worker dies, does not matter.
async function nextTurn(ctx: Context): Promise<void> {
  const branches = { step: ctx.sideEffect(() => null), timer: ctx.sleep(0) }
  await ctx.race(branches).catch((error: unknown) => {
    if (error instanceof CancelledError) throw error
  })
}

/** All of a plan, as text: not everything in an input is JSON. */
function textOf(spec: ScheduleSpec): string {
  return JSON.stringify(encode(spec, 'a schedule'))
}

// There may be many of the smallest, too, and each is an event or two.
function sizeOf(text: string): number {
  return Math.max(text.length, limits.scheduleRunBytes)
}

function stop(child: Child<unknown>): void {
  const terminable = child as TerminableChild
  terminable.terminate('the next run of its schedule is due')
}
