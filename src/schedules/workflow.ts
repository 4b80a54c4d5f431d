// A schedule is a run of this workflow: it sleeps until the next slot, starts the run for it, and hears what people say
// meanwhile. That any number of workers start a slot once follows from a run being held by one of them at a time.
import type { Child, Context } from '../definitions/context.ts'
import { TIMEOUT } from '../definitions/context.ts'
import type { AnyWorkflowContract } from '../definitions/contract.ts'
import { signal } from '../definitions/messages.ts'
import { workflow } from '../definitions/workflow.ts'
import type { Instant } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import {
  attributesOf,
  type Control,
  nextSlot,
  type ScheduleSpec,
  type ScheduleState,
  slotRunId,
  slotsOf,
} from './state.ts'

/** Where schedules are kept, apart from users' work. */
export const SCHEDULES_QUEUE = 'pawl.schedules'
export const SCHEDULE = 'pawl.schedule'

export const control = signal<Control>('control')

export const schedule = workflow(
  SCHEDULE,
  { queue: SCHEDULES_QUEUE },
  async (ctx, state: ScheduleState): Promise<void> => {
    const keeper = new Keeper(ctx, state)
    ctx.on(control, (message) => keeper.hear(message))
    while (!keeper.isOver) {
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
  #buffered: Instant | undefined
  #backfills: Instant[] = []
  #isNews = false
  #isNewSpec = false
  #rounds = 0
  isOver = false

  constructor(ctx: Context, { id, spec, paused, note, after, lastRunId }: ScheduleState) {
    this.#ctx = ctx
    this.#id = id
    this.#spec = spec
    this.#paused = paused
    this.#note = note
    this.#after = after ?? ctx.now()
    this.#lastRunId = lastRunId
    this.#show()
  }

  get state(): ScheduleState {
    return {
      id: this.#id,
      spec: this.#spec,
      paused: this.#paused,
      after: this.#after,
      ...(this.#note !== undefined && { note: this.#note }),
      ...(this.#lastRunId !== undefined && { lastRunId: this.#lastRunId }),
    }
  }

  /** Its history is long enough, or not that of its plan any more; and there is nothing it would forget. */
  get isWornOut(): boolean {
    const idle = this.#running === undefined && this.#buffered === undefined
    return idle && this.#backfills.length === 0 && (this.#isNewSpec || this.#rounds >= ROUNDS)
  }

  hear(message: Control): void {
    this.#isNews = true
    switch (message.do) {
      case 'set':
        if (JSON.stringify(message.spec) !== JSON.stringify(this.#spec)) this.#isNewSpec = true
        this.#spec = message.spec
        if (message.paused !== undefined) this.#rest(message.paused, message.note)
        return
      case 'pause':
        return this.#rest(true, message.note)
      case 'resume':
        return this.#rest(false, undefined)
      case 'backfill': {
        const { slots } = slotsOf(this.#spec, message.from, message.to, limits.backfillSlotsMax)
        this.#backfills.push(...slots)
        return
      }
      case 'delete':
        this.isOver = true
    }
  }

  /** Waits for whatever comes first, and acts on it. */
  async goOn(): Promise<void> {
    this.#rounds++
    for (const slot of this.#backfills.splice(0)) this.#start(slot, true)
    const next = this.#paused || this.#isBusy ? undefined : nextSlot(this.#spec, this.#after)
    const jitter = next === undefined ? 0 : Math.floor(this.#ctx.random() * this.#spec.jitterMs)
    const isNews = (): boolean => this.#isNews
    const timeout = Math.max(0, (next ?? 0) + jitter - this.#ctx.now())
    const heard =
      next === undefined ? await this.#ctx.wait(isNews) : await this.#ctx.wait(isNews, { timeout })
    this.#isNews = false
    if (heard === TIMEOUT && next !== undefined) await this.#due(next, jitter)
    this.#show()
  }

  // Whatever slot comes before the run under way has ended is skipped.
  get #isBusy(): boolean {
    const { overlap } = this.#spec
    const isFull = overlap === 'skip' || (overlap === 'bufferOne' && this.#buffered !== undefined)
    return this.#running !== undefined && isFull
  }

  // Time is over for this slot, and perhaps for others behind it, if nobody was there to notice.
  async #due(first: Instant, jitter: number): Promise<void> {
    const now = this.#ctx.now()
    const { slots } = slotsOf(this.#spec, first, now, limits.catchUpSlotsMax)
    const all = [first, ...slots]
    this.#after = all.at(-1) ?? first
    const onTime = all.filter((slot) => now - slot - jitter <= limits.scheduleLateMs)
    const missed = all.filter((slot) => !onTime.includes(slot))
    const { catchUp } = this.#spec
    if (catchUp === 'all') for (const slot of missed) await this.#take(slot)
    else if (catchUp === 'one' && missed.length > 0 && onTime.length === 0)
      await this.#take(missed.at(-1) ?? first)
    for (const slot of onTime) await this.#take(slot)
  }

  // A slot has come: what is under way decides what becomes of it.
  async #take(slot: Instant): Promise<void> {
    const { overlap } = this.#spec
    const running = this.#running
    if (overlap === 'allow' || running === undefined) return this.#start(slot)
    if (overlap === 'skip') return
    if (overlap === 'bufferOne') {
      this.#buffered = slot
      return
    }
    if (overlap === 'replace') running.cancel('the next run of its schedule is due')
    else stop(running)
    await running.catch(() => {})
    this.#start(slot)
  }

  // Children are told apart by their order, and not by their slots: what a slot is may change with the rules of a time
  // zone, which come with the runtime.
  #start(slot: Instant, isBackfill = false): void {
    const { workflow: name, input, run, overlap } = this.#spec
    const contract = { is: 'workflow', name } as AnyWorkflowContract
    const child = this.#ctx.child(contract, input as never, {
      ...run,
      workflowId: slotRunId(this.#id, slot),
      attributes: { ...run.attributes, schedule: this.#id, slot: new Date(slot) },
      parentClose: 'abandon',
    })
    this.#lastRunId = child.runId
    if (overlap === 'allow' || isBackfill) return
    this.#running = child
    const ended = (): void => this.#ended(child)
    child.then(ended, ended)
  }

  #ended(child: Child<unknown>): void {
    if (this.#running !== child) return
    // What came while it ran is skipped, and not late.
    if (this.#isBusy) this.#after = Math.max(this.#after, this.#ctx.now())
    this.#running = undefined
    this.#isNews = true
    const buffered = this.#buffered
    this.#buffered = undefined
    if (buffered !== undefined && !this.#paused) this.#start(buffered)
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

/** Slots and messages after which a schedule begins a new history. */
const ROUNDS = 100

// Terminating is not for everybody's code, so the type of a child does not have it.
function stop(child: Child<unknown>): void {
  const able = child as Child<unknown> & { terminate(reason: string): void }
  able.terminate('the next run of its schedule is due')
}
