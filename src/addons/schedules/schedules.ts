// Schedules as users meet them. Each is a run of a workflow of pawl's own; what is said to it is a signal, and what is
// shown of it are its attributes.

import { checkOptions } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
import { checkId, checkKnownId } from '../../core/base/names.ts'
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
  slotsBetween,
  type Timing,
  timingOf,
} from '../../core/index.ts'
import { type Control, changed } from './change.ts'
import type { ScheduleChange, ScheduleOptions } from './options.ts'
import { backfillOptions } from './options.ts'
import {
  changedSpec,
  checkChange,
  checkDue,
  contractOf,
  instant,
  newSpec,
  planOf,
  type SchedulePlan,
} from './plan.ts'
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
import { control, schedule } from './workflow.ts'

export type { ScheduleChange, ScheduleOptions } from './options.ts'
export type { SchedulePlan } from './plan.ts'

/** A schedule as it stands. */
export interface ScheduleRecord {
  readonly id: string
  readonly workflow: string
  readonly paused: boolean
  readonly note?: string
  readonly timing: Timing
  /** The next slots, if it is not paused. */
  readonly next: readonly Date[]
  readonly lastRunId?: string
  /** Absent until a worker of this version has taken up a schedule of an older one. */
  readonly catchUp?: CatchUp
  readonly catchUpWindow?: string
  /** Slots that were missed and not made up, and the last of them. Of one outage, at most 10,000 are counted. */
  readonly missed: number
  readonly lastMissed?: Date
}

/** Everything there is to know of a schedule. */
export interface ScheduleDescription extends ScheduleRecord {
  /** What it was told: `set` takes it again, as it is. */
  readonly plan: SchedulePlan
  /** Its newest runs, the newest first. */
  readonly recent: readonly RecentRun[]
}

/** A run that a schedule has started. */
export interface RecentRun {
  readonly runId: string
  readonly workflowId: string
  readonly status: Status
  /** Absent if the run was triggered by hand. */
  readonly slot?: Date
  readonly createdAt: Date
  readonly endedAt?: Date
}

/** A remote control for one schedule. */
export interface Schedule {
  readonly id: string
  describe(): Promise<ScheduleDescription>
  /** Changes what is given and nothing else; null removes an option. Runs in progress go on as they are. */
  update<In>(change: ScheduleChange<In>): Promise<void>
  /** No slot is taken until it is resumed. */
  pause(note?: string): Promise<void>
  /** Slots that came meanwhile are not caught up on. */
  resume(): Promise<void>
  /** Starts a run now, whatever is under way. */
  trigger(): Promise<RunHandle<unknown>>
  /** Starts a run for every slot in a span of time; answers how many. */
  backfill(range: { readonly from: Date; readonly to: Date }): Promise<number>
  /** Runs that were started go on. */
  delete(): Promise<void>
}

/** Runs that start by the clock: `engine.schedules`. */
export class Schedules {
  readonly #client: Client
  readonly #now: () => Instant

  /** @internal */
  constructor(client: Client, now: () => Instant) {
    this.#client = client
    this.#now = now
  }

  /** The same id again replaces the timing and all options, so that it can be said at every start of a program. */
  async set<In>(
    id: string,
    given: Timing &
      ScheduleOptions & { readonly workflow: Startable<In, unknown> } & Given<'input', NoInfer<In>>,
  ): Promise<Schedule> {
    checkScheduleId(id)
    const now = this.#now()
    const spec = newSpec(id, given)
    checkDue(spec, now, nextSlot(spec, now) === undefined ? await this.#known(id) : undefined)
    const { paused, note } = given
    // Each of its runs parses the input for itself; what none of them would take is not to wait for the first.
    await parseInput(given.workflow, given.input)
    const noted = note === undefined ? {} : { note: shortNote(note) }
    const input: ScheduleState = { id, spec, paused: paused === true, ...noted }
    const rest = paused === undefined ? {} : { paused: input.paused, ...noted }
    const said: Control = { do: 'set', spec, asOf: now, ...rest }
    const message = {
      type: 'signal',
      id: this.#client.host.newId(),
      name: control.name,
      payload: encode(said, 'a schedule'),
    } as const
    const attributes = attributesOf(input, now)
    const workflowId = scheduleRunId(id)
    // One that was being deleted may have ended without a look at this.
    for (let tries = 0; tries < SET_TRIES; tries++) {
      const run = await this.#client.startWith(schedule, input, { workflowId, attributes }, message)
      if ((await this.#heard(run)) !== 'ended') break
    }
    return this.get(id)
  }

  // What has its id may be another run each time: one that was deleted may have been set again.
  get(id: string): Schedule {
    checkKnownId(id, 'the id of a schedule')
    const tell = (message: Control): Promise<void> => this.#tell(id, message)
    const live = (): Promise<RunRecord> => this.#live(id, this.#run(id))
    return {
      id,
      describe: async () => this.#describe(id, await live()),
      update: async (change) => {
        checkChange(change)
        await this.#update(id, await this.#specOf(await live()), change)
      },
      pause: (note) => tell({ do: 'pause', ...(note !== undefined && { note: shortNote(note) }) }),
      resume: () => tell({ do: 'resume' }),
      delete: () => tell({ do: 'delete' }),
      trigger: async () => this.#trigger(id, await this.#specOf(await live())),
      backfill: async (range) => {
        checkOptions(backfillOptions, range, { of: 'backfill' })
        const { from, to } = range
        const spec = await this.#specOf(await live())
        const span = { from: instant(from, 'from') - 1, to: instant(to, 'to') }
        const { slots, more } = slotsOf(spec, span.from, span.to, limits.backfillSlotsMax)
        if (more) throw tooMany()
        await tell({ do: 'backfill', ...span })
        return slots.length
      },
    }
  }

  async list(
    page: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<Page<ScheduleRecord>> {
    const found = await this.#client.list({ workflow: SCHEDULE, status: LIVE }, page)
    const { cursor } = found
    return { items: found.items.map(recordOf), ...(cursor !== undefined && { cursor }) }
  }

  async #describe(id: string, run: RunRecord): Promise<ScheduleDescription> {
    const record = recordOf(run)
    const plan = planOf(await this.#specOf(run), record)
    return { ...record, plan, recent: await this.#recent(id) }
  }

  // A schedule's own run has the same attribute.
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

  // What is refused is refused by what is known here; the schedule itself applies the change to what it knows then.
  async #update<In>(id: string, before: ScheduleSpec, given: ScheduleChange<In>): Promise<void> {
    const asOf = this.#now()
    const { change, spec } = changedSpec(id, before, given, asOf)
    if (given.workflow) await parseInput(given.workflow, spec.input)
    const { paused, note } = given
    const said = {
      ...(paused !== undefined && { paused }),
      ...(note !== undefined && { note: note === null ? null : shortNote(note) }),
    }
    await this.#tell(id, { do: 'change', change, asOf, ...said })
  }

  #trigger(id: string, spec: ScheduleSpec): Promise<RunHandle<unknown>> {
    const { input, run } = spec
    const attributes: Attributes = { ...run.attributes, schedule: id }
    return this.#client.start(contractOf(spec), input, { ...run, attributes })
  }

  #run(id: string): RunHandle<unknown> {
    return this.#client.get({ workflowId: scheduleRunId(id) })
  }

  async #tell(id: string, message: Control): Promise<void> {
    const run = this.#run(id)
    await this.#live(id, run)
    await run.signal(control, message).catch((error: unknown) => {
      throw error instanceof PawlError && error.code === 'RUN_ENDED' ? missing(id) : error
    })
    const isLast = message.do === 'delete'
    if ((await this.#heard(run, isLast)) === 'ended' && !isLast) throw missing(id)
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

  // Its plan is what the newest generation of its run began with, and what it was told since.
  async #specOf({ runId, generation, input, unreadable }: RunRecord): Promise<ScheduleSpec> {
    const events = await eventsOf((asks) => this.#client.host.load(asks), { runId, generation })
    const [first] = events
    if (first?.type !== 'GenerationBegan' && unreadable)
      throw new PawlError(unreadable.code, unreadable.message)
    const state = first?.type === 'GenerationBegan' ? decode(first.input) : input
    return events
      .flatMap((event) =>
        event.type === 'SignalReceived' ? [decode(event.payload) as Control] : [],
      )
      .reduce(told, (state as ScheduleState).spec)
  }

  // It is durable already. If somebody is there to hear it, it is worth a moment to see it done.
  async #heard(run: RunHandle<unknown>, isLast = false): Promise<'ended' | undefined> {
    const { runId } = await run.describe()
    for (let pauseMs = 2; pauseMs <= HEARD_MS; pauseMs *= 2) {
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
const HEARD_MS = 256

function told(spec: ScheduleSpec, message: Control): ScheduleSpec {
  if (message.do === 'set') return message.spec
  return message.do === 'change' ? changed(spec, message.change) : spec
}

function recentRun(run: RunRecord): RecentRun {
  const { runId, workflowId, status, createdAt, endedAt, attributes } = run
  const { slot } = attributes
  return {
    runId,
    workflowId,
    status,
    ...(slot instanceof Date && { slot }),
    createdAt,
    ...(endedAt && { endedAt }),
  }
}

// The ids of its runs are longer than its own.
function checkScheduleId(id: string): void {
  checkId(id, 'the id of a schedule')
  const idMax = limits.idLengthMax - slotRunId('', 0).length
  if (id.length <= idMax) return
  const message = `the id of a schedule has ${id.length} characters; expected at most ${idMax}, as those of its runs are longer.`
  throw new PawlError('INPUT_INVALID', message)
}

function recordOf({ attributes }: RunRecord): ScheduleRecord {
  const { schedule: id, workflow, paused, note, timing: text, next, until, lastRunId } = attributes
  const { catchUp, catchUpWindow, missed, lastMissed } = attributes
  const timing = JSON.parse(String(text ?? '{"every":1000}')) as Timing
  const first = next instanceof Date ? next.getTime() : undefined
  const last = until instanceof Date ? until.getTime() : Number.MAX_SAFE_INTEGER
  return {
    id: String(id ?? ''),
    workflow: String(workflow ?? ''),
    paused: paused === true,
    timing,
    next: first === undefined ? [] : slotsFrom(timing, first, last),
    ...(note !== undefined && note !== '' && { note: String(note) }),
    ...(lastRunId !== undefined && lastRunId !== '' && { lastRunId: String(lastRunId) }),
    ...(catchUp !== undefined && { catchUp: String(catchUp) as CatchUp }),
    ...(catchUpWindow !== undefined &&
      catchUpWindow !== '' && { catchUpWindow: String(catchUpWindow) }),
    missed: Number(missed ?? 0),
    ...(lastMissed instanceof Date && { lastMissed }),
  }
}

function slotsFrom(timing: Timing, first: Instant, last: Instant): Date[] {
  const { slots } = slotsBetween(timingOf(timing), first - 1, last, limits.slotsShown)
  return slots.map((slot) => new Date(slot))
}

function tooMany(): PawlError {
  const message = `there are more than ${limits.backfillSlotsMax} slots between from and to. Back-fill a shorter span at a time.`
  return new PawlError('INPUT_INVALID', message)
}

function missing(id: string): PawlError {
  return new PawlError('RUN_NOT_FOUND', `there is no schedule '${id}' in this store.`)
}
