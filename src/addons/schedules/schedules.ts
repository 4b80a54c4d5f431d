// The client API of schedules. A schedule is a run of pawl's own workflow: control messages are signals to it, and its
// state is read from its attributes.

import { defined } from '../../core/base/defined.ts'
import { checkOptions } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { checkId, checkKnownId } from '../../core/base/names.ts'
import type { Instant } from '../../core/base/time.ts'
import { decode, encode } from '../../core/base/value.ts'
import {
  type Attributes,
  type Client,
  eventsOf,
  type Given,
  LIVE,
  type Page,
  parseInput,
  type RunHandle,
  type RunRecord,
  SCHEDULE,
  type Startable,
  type Status,
} from '../../core/index.ts'
import { type Control, changed } from './change.ts'
import type { ScheduleChange, ScheduleOptions } from './options.ts'
import { backfillOptions } from './options.ts'
import { changedSpec, checkChange, checkDue, contractOf, instant, newSpec, planOf, type SchedulePlan } from './plan.ts'
import {
  attributesOf,
  type CatchUp,
  nextSlot,
  type ScheduleSpec,
  type ScheduleState,
  scheduleRunId,
  shortNote,
  slotRunId,
  slotsOf,
} from './state.ts'
import { slotsBetween, type Timing, timingOf } from './timing.ts'
import { control, schedule } from './workflow.ts'

export type { ScheduleChange, ScheduleOptions } from './options.ts'
export type { SchedulePlan } from './plan.ts'

/** The state of a schedule. */
export interface ScheduleRecord {
  readonly id: string
  readonly workflow: string
  readonly paused: boolean
  readonly note?: string
  readonly timing: Timing
  /** The next slots; empty while paused. */
  readonly next: readonly Date[]
  readonly lastRunId?: string
  /** Absent for a schedule of an older version that no newer worker has continued yet. */
  readonly catchUp?: CatchUp
  readonly catchUpWindow?: string
  /** The number of slots that were missed and not made up, at most 10,000 of one outage; and the last of them. */
  readonly missed: number
  readonly lastMissed?: Date
}

/** The state of a schedule, its plan and its newest runs. */
export interface ScheduleDescription extends ScheduleRecord {
  /** Its plan, which can be passed to `set` again. */
  readonly plan: SchedulePlan
  /** Its newest runs, newest first. */
  readonly recent: readonly RecentRun[]
}

/** A run that a schedule started. */
export interface RecentRun {
  readonly runId: string
  readonly workflowId: string
  readonly status: Status
  /** Absent if the run was triggered by hand. */
  readonly slot?: Date
  readonly createdAt: Date
  readonly endedAt?: Date
}

/** A handle to one schedule. */
export interface Schedule {
  readonly id: string
  describe(): Promise<ScheduleDescription>
  /** Changes only the given fields; null removes an option. Runs in progress are not affected. */
  update<In>(change: ScheduleChange<In>): Promise<void>
  /** Takes no slots until it is resumed. */
  pause(note?: string): Promise<void>
  /** Slots that were due during the pause are not caught up on. */
  resume(): Promise<void>
  /** Starts a run now, regardless of runs in progress. */
  trigger(): Promise<RunHandle<unknown>>
  /** Starts a run for every slot in a range of time; returns how many. */
  backfill(range: { readonly from: Date; readonly to: Date }): Promise<number>
  /** The slots of a range of time, past or to come, whether it is paused or not; at most 1,000. */
  slots(range: { readonly from: Date; readonly to: Date }): Promise<ScheduleSlots>
  /** Deletes the schedule. Its runs in progress continue. */
  delete(): Promise<void>
}

/** Slots of a schedule, in order. */
export interface ScheduleSlots {
  readonly slots: readonly Date[]
  /** There are more in the range. */
  readonly more: boolean
}

/** Starts runs at set times: `engine.schedules`. */
export class Schedules {
  readonly #client: Client
  readonly #now: () => Instant

  /** @internal */
  constructor(client: Client, now: () => Instant) {
    this.#client = client
    this.#now = now
  }

  /** Creates a schedule or replaces its timing and options, so that a program can call this at every start. */
  async set<In>(
    id: string,
    given: Timing & ScheduleOptions & { readonly workflow: Startable<In, unknown> } & Given<'input', NoInfer<In>>,
  ): Promise<Schedule> {
    checkScheduleId(id)
    const now = this.#now()
    const spec = newSpec(id, given)
    checkDue(spec, now, nextSlot(spec, now) === undefined ? await this.#known(id) : undefined)
    const { paused, note } = given
    // Each run parses the input itself; an input that all of them would refuse is refused here.
    await parseInput(given.workflow, given.input)
    const noted = note === undefined ? {} : { note: shortNote(note) }
    const input: ScheduleState = { id, spec, paused: paused === true, ...noted }
    const pause = paused === undefined ? {} : { paused: input.paused, ...noted }
    const set: Control = { do: 'set', spec, asOf: now, ...pause }
    const message = {
      type: 'signal',
      id: this.#client.host.newId(),
      name: control.name,
      payload: encode(set, 'a schedule'),
    } as const
    const attributes = attributesOf(input, now)
    const workflowId = scheduleRunId(id)
    // A schedule that was being deleted may have ended before it read the message.
    for (let tries = 0; tries < SET_TRIES; tries++) {
      const run = await this.#client.startWith(schedule, input, { workflowId, attributes }, message)
      if ((await this.#settled(run)) !== 'ended') break
    }
    return this.get(id)
  }

  // Each call looks the run up by id, because a deleted schedule may have been set again as another run.
  get(id: string): Schedule {
    checkKnownId(id, 'the id of a schedule')
    const send = (message: Control): Promise<void> => this.#send(id, message)
    const live = (): Promise<RunRecord> => this.#live(id, this.#run(id))
    return {
      id,
      describe: async () => this.#describe(id, await live()),
      update: async (change) => {
        checkChange(change)
        await this.#update(id, await this.#specOf(await live()), change)
      },
      pause: (note) => send({ do: 'pause', ...(note !== undefined && { note: shortNote(note) }) }),
      resume: () => send({ do: 'resume' }),
      delete: () => send({ do: 'delete' }),
      trigger: async () => this.#trigger(id, await this.#specOf(await live())),
      slots: async (range) => {
        checkOptions(backfillOptions, range, { of: 'slots' })
        const { from, to } = range
        const spec = await this.#specOf(await live())
        const found = slotsOf(spec, instant(from, 'from') - 1, instant(to, 'to'), limits.slotsListedMax)
        return { slots: found.slots.map((slot) => new Date(slot)), more: found.more }
      },
      backfill: async (range) => {
        checkOptions(backfillOptions, range, { of: 'backfill' })
        const { from, to } = range
        const spec = await this.#specOf(await live())
        const span = { from: instant(from, 'from') - 1, to: instant(to, 'to') }
        const { slots, more } = slotsOf(spec, span.from, span.to, limits.backfillSlotsMax)
        if (more) throw tooMany()
        await send({ do: 'backfill', ...span })
        return slots.length
      },
    }
  }

  async list(page: { readonly limit?: number; readonly cursor?: string } = {}): Promise<Page<ScheduleRecord>> {
    const found = await this.#client.list({ workflow: SCHEDULE, status: LIVE }, page)
    const { cursor } = found
    return defined({ items: found.items.map(recordOf), cursor })
  }

  async #describe(id: string, run: RunRecord): Promise<ScheduleDescription> {
    const record = recordOf(run)
    const plan = planOf(await this.#specOf(run), record)
    return { ...record, plan, recent: await this.#recent(id) }
  }

  // The schedule's own run has the same attribute and is left out.
  async #recent(id: string): Promise<readonly RecentRun[]> {
    const found: RecentRun[] = []
    const limit = 2 * limits.recentRunsShown
    let cursor: string | undefined
    do {
      const at = cursor === undefined ? {} : { cursor }
      const page = await this.#client.list({ attributes: { schedule: id } }, { limit, ...at })
      found.push(...page.items.filter(({ name }) => name !== SCHEDULE).map(recentRun))
      cursor = page.cursor
    } while (cursor !== undefined && found.length < limits.recentRunsShown)
    return found.slice(0, limits.recentRunsShown)
  }

  // The change is checked against the plan as read here; the schedule applies it to its plan at that time.
  async #update<In>(id: string, before: ScheduleSpec, given: ScheduleChange<In>): Promise<void> {
    const asOf = this.#now()
    const { change, spec } = changedSpec(id, before, given, asOf)
    if (given.workflow) await parseInput(given.workflow, spec.input)
    const { paused, note } = given
    const pause = {
      ...(paused !== undefined && { paused }),
      ...(note !== undefined && { note: note === null ? null : shortNote(note) }),
    }
    await this.#send(id, { do: 'change', change, asOf, ...pause })
  }

  #trigger(id: string, spec: ScheduleSpec): Promise<RunHandle<unknown>> {
    const { input, run } = spec
    const attributes: Attributes = { ...run.attributes, schedule: id }
    return this.#client.start(contractOf(spec), input, { ...run, attributes })
  }

  #run(id: string): RunHandle<unknown> {
    return this.#client.get({ workflowId: scheduleRunId(id) })
  }

  async #send(id: string, message: Control): Promise<void> {
    const run = this.#run(id)
    await this.#live(id, run)
    await run.signal(control, message).catch((error: unknown) => {
      throw error instanceof PawlError && error.code === 'RUN_ENDED' ? missing(id) : error
    })
    const isLast = message.do === 'delete'
    if ((await this.#settled(run, isLast)) === 'ended' && !isLast) throw missing(id)
  }

  async #live(id: string, run: RunHandle<unknown>): Promise<RunRecord> {
    const record = await run.describe().catch((error: unknown) => {
      throw error instanceof PawlError && error.code === 'RUN_NOT_FOUND' ? missing(id) : error
    })
    if (record.endedAt) throw missing(id)
    return record
  }

  async #known(id: string): Promise<ScheduleSpec | undefined> {
    try {
      return await this.#specOf(await this.#live(id, this.#run(id)))
    } catch (error) {
      if (error instanceof PawlError && error.code === 'RUN_NOT_FOUND') return undefined
      throw error
    }
  }

  // The plan is the input of the newest generation with the control messages applied that it received since.
  async #specOf({ runId, generation, input, unreadable }: RunRecord): Promise<ScheduleSpec> {
    const events = await eventsOf((asks) => this.#client.host.load(asks), { runId, generation })
    const [first] = events
    if (first?.type !== 'GenerationBegan' && unreadable) throw new PawlError(unreadable.code, unreadable.message)
    const state = first?.type === 'GenerationBegan' ? decode(first.input) : input
    return events
      .flatMap((event) => (event.type === 'SignalReceived' ? [decode(event.payload) as Control] : []))
      .reduce(applied, (state as ScheduleState).spec)
  }

  // The message is durable. If a worker holds the run, wait a moment so that callers see its effect.
  async #settled(run: RunHandle<unknown>, isLast = false): Promise<'ended' | undefined> {
    const { runId } = await run.describe()
    for (let pauseMs = 2; pauseMs <= SETTLED_MS; pauseMs *= 2) {
      const [loaded] = await this.#client.host.load([{ type: 'run', runId }])
      if (loaded?.type !== 'run' || !loaded.run) return undefined
      const { unread, session, endedAt } = loaded.run
      if (endedAt !== undefined) return 'ended'
      if (!isLast && unread === 0 && session === undefined) return undefined
      await this.#client.host.pause(pauseMs)
    }
    return undefined
  }
}

const SET_TRIES = 3
const SETTLED_MS = 256

function applied(spec: ScheduleSpec, message: Control): ScheduleSpec {
  if (message.do === 'set') return message.spec
  return message.do === 'change' ? changed(spec, message.change) : spec
}

function recentRun(run: RunRecord): RecentRun {
  const { runId, workflowId, status, createdAt, endedAt, attributes } = run
  const { slot } = attributes
  const ofSlot = slot instanceof Date ? slot : undefined
  return defined({ runId, workflowId, status, slot: ofSlot, createdAt, endedAt })
}

// The workflow ids of its runs are the schedule id and a slot, so the id must be shorter than an id may be.
function checkScheduleId(id: string): void {
  checkId(id, 'the id of a schedule')
  const idMax = limits.idLengthMax - slotRunId('', 0).length
  if (id.length <= idMax) return
  const message = `the id of a schedule has ${id.length} characters; expected at most ${idMax}, because the ids of its runs append a time. Choose a shorter one.`
  throw new PawlError('INPUT_INVALID', message)
}

function recordOf({ attributes }: RunRecord): ScheduleRecord {
  const { schedule: id, workflow, paused, note, timing: text, next, until, lastRunId } = attributes
  const { catchUp, catchUpWindow, missed, lastMissed } = attributes
  const timing = JSON.parse(String(text ?? '{"every":1000}')) as Timing
  const first = next instanceof Date ? next.getTime() : undefined
  const last = until instanceof Date ? until.getTime() : Number.MAX_SAFE_INTEGER
  return defined({
    id: String(id ?? ''),
    workflow: String(workflow ?? ''),
    paused: paused === true,
    timing,
    next: first === undefined ? [] : slotsFrom(timing, first, last),
    note: textOf(note),
    lastRunId: textOf(lastRunId),
    catchUp: textOf(catchUp) as CatchUp | undefined,
    catchUpWindow: textOf(catchUpWindow),
    missed: Number(missed ?? 0),
    lastMissed: lastMissed instanceof Date ? lastMissed : undefined,
  })
}

/** The text of an attribute; an absent one may be empty. */
function textOf(attribute: Attributes[string] | undefined): string | undefined {
  return attribute === undefined || attribute === '' ? undefined : String(attribute)
}

function slotsFrom(timing: Timing, first: Instant, last: Instant): Date[] {
  const { slots } = slotsBetween(timingOf(timing), first - 1, last, limits.slotsShown)
  return slots.map((slot) => new Date(slot))
}

function tooMany(): PawlError {
  const message = `there are more than ${limits.backfillSlotsMax} slots between from and to, which is the limit. Backfill a shorter range at a time.`
  return new PawlError('INPUT_INVALID', message)
}

function missing(id: string): PawlError {
  return new PawlError(
    'RUN_NOT_FOUND',
    `there is no schedule '${id}' in this store. List them with engine.schedules.list() or pawl schedules.`,
  )
}
