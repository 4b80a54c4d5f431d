// Schedules as users meet them. Each is a run of a workflow of pawl's own; what is said to it is a signal, and what is
// shown of it are its attributes.
import { type Attributes, storedAttributes } from '../definitions/attributes.ts'
import type { RunRef } from '../definitions/context.ts'
import type { Given, WorkflowContract } from '../definitions/contract.ts'
import { checkPriority } from '../definitions/priority.ts'
import { parseInput } from '../definitions/schema.ts'
import { checkOptions } from '../kernel/described.ts'
import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { limits } from '../kernel/limits.ts'
import type { Message } from '../kernel/message.ts'
import { checkId, checkKnownId, checkName } from '../kernel/names.ts'
import { decode, encode } from '../kernel/value.ts'
import { slotsBetween, type Timing, timingOf } from '../policies/timing.ts'
import {
  attributesOf,
  type Control,
  INSTANT_MAX,
  INSTANT_MIN,
  type ScheduledRun,
  type ScheduleSpec,
  type ScheduleState,
  scheduleRunId,
  shortNote,
  slotRunId,
  slotsOf,
  timingText,
} from '../schedules/state.ts'
import { control, SCHEDULE, schedule } from '../schedules/workflow.ts'
import type { LoadAsk, Loaded } from '../stores/store.ts'
import type { Page, RunFilter } from './filter.ts'
import { eventsOf } from './history.ts'
import type { RunRecord } from './record.ts'
import { LIVE } from './recorded-runs.ts'
import type { RunHandle } from './run-handle.ts'
import { type ScheduleOptions, wholeSchedule } from './schedule-options.ts'
import type { StartOptions } from './start-options.ts'

export type { ScheduleOptions } from './schedule-options.ts'

export interface ScheduleRecord {
  readonly id: string
  readonly workflow: string
  readonly paused: boolean
  readonly note?: string
  readonly timing: Timing
  /** The next slots, if it is not paused. */
  readonly next: readonly Date[]
  readonly lastRunId?: string
}

export interface Schedule {
  readonly id: string
  describe(): Promise<ScheduleRecord>
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

/** What schedules need of their client. */
export interface ScheduleHost {
  now(): number
  newId(): string
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>
  pause(ms: number): Promise<void>
  /** Starts a run, or finds it by its workflow id, and tells it something in the same write. */
  begin(
    workflow: WorkflowContract<never, unknown>,
    input: unknown,
    options: StartOptions,
    message: Message,
  ): Promise<RunHandle<unknown>>
  start(
    workflow: WorkflowContract<unknown, unknown>,
    input: unknown,
    options: StartOptions,
  ): Promise<RunHandle<unknown>>
  get(run: RunRef): RunHandle<unknown>
  list(
    filter: RunFilter,
    page: { readonly limit?: number; readonly cursor?: string },
  ): Promise<Page<RunRecord>>
}

export class Schedules {
  readonly #host: ScheduleHost

  constructor(host: ScheduleHost) {
    this.#host = host
  }

  /** The same id again replaces the timing and all options, so that it can be said at every start of a program. */
  async set<In>(
    id: string,
    given: Timing &
      ScheduleOptions & { readonly workflow: WorkflowContract<In, unknown> } & Given<
        'input',
        NoInfer<In>
      >,
  ): Promise<Schedule> {
    checkScheduleId(id)
    const { paused, note } = given
    const spec = specOf(given)
    // Each of its runs parses the input for itself; what none of them would take is not to wait for the first.
    await parseInput(given.workflow, given.input)
    if (timingOf(spec.timing).next(this.#host.now()) === undefined) throw neverDue(spec.timing)
    const noted = note === undefined ? {} : { note: shortNote(note) }
    const input: ScheduleState = { id, spec, paused: paused === true, ...noted }
    checkState(input)
    const rest = paused === undefined ? {} : { paused: input.paused, ...noted }
    const said: Control = { do: 'set', spec, ...rest }
    const message = {
      type: 'signal',
      id: this.#host.newId(),
      name: control.name,
      payload: encode(said, 'a schedule'),
    } as const
    const attributes = attributesOf(input, this.#host.now())
    const workflowId = scheduleRunId(id)
    // One that was being deleted may have ended without a look at this.
    for (let tries = 0; tries < SET_TRIES; tries++) {
      const run = await this.#host.begin(schedule, input, { workflowId, attributes }, message)
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
      describe: async () => recordOf(await live()),
      pause: (note) => tell({ do: 'pause', ...(note !== undefined && { note: shortNote(note) }) }),
      resume: () => tell({ do: 'resume' }),
      delete: () => tell({ do: 'delete' }),
      trigger: async () => this.#trigger(id, await this.#specOf(await live())),
      backfill: async ({ from, to }) => {
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
    const found = await this.#host.list({ workflow: SCHEDULE, status: LIVE }, page)
    const { cursor } = found
    return { items: found.items.map(recordOf), ...(cursor !== undefined && { cursor }) }
  }

  #trigger(id: string, spec: ScheduleSpec): Promise<RunHandle<unknown>> {
    const { workflow: name, input, run } = spec
    const contract = { is: 'workflow', name } as WorkflowContract<unknown, unknown>
    const attributes: Attributes = { ...run.attributes, schedule: id }
    return this.#host.start(contract, input, { ...run, attributes })
  }

  #run(id: string): RunHandle<unknown> {
    return this.#host.get({ workflowId: scheduleRunId(id) })
  }

  async #tell(id: string, message: Control): Promise<void> {
    const run = this.#run(id)
    await this.#live(id, run)
    await run.signal(control, message).catch((error: unknown) => {
      throw error instanceof PawlError && error.code === 'RUN_ENDED' ? missing(id) : error
    })
    await this.#heard(run, message.do === 'delete')
  }

  async #live(id: string, run: RunHandle<unknown>): Promise<RunRecord> {
    const record = await run.describe().catch((error: unknown) => {
      throw error instanceof PawlError && error.code === 'RUN_NOT_FOUND' ? missing(id) : error
    })
    if (record.endedAt) throw missing(id)
    return record
  }

  // Its plan is what it was told last, or else what the newest generation of its run began with.
  async #specOf({ runId, generation, input, unreadable }: RunRecord): Promise<ScheduleSpec> {
    const events = await eventsOf((asks) => this.#host.load(asks), { runId, generation })
    const told = events.flatMap((event) =>
      event.type === 'SignalReceived' ? [decode(event.payload) as Control] : [],
    )
    const set = told.findLast((each) => each.do === 'set')
    if (set?.do === 'set') return set.spec
    const [first] = events
    if (first?.type !== 'GenerationBegan' && unreadable)
      throw new PawlError(unreadable.code, unreadable.message)
    const state = first?.type === 'GenerationBegan' ? decode(first.input) : input
    return (state as ScheduleState).spec
  }

  // It is durable already. If somebody is there to hear it, it is worth a moment to see it done.
  async #heard(run: RunHandle<unknown>, isLast = false): Promise<'ended' | undefined> {
    const { runId } = await run.describe()
    for (let pauseMs = 2; pauseMs <= HEARD_MS; pauseMs *= 2) {
      const [loaded] = await this.#host.load([{ type: 'run', runId }])
      if (loaded?.type !== 'run' || !loaded.run) return undefined
      const { unread, session, endedAt } = loaded.run
      if (endedAt !== undefined) return 'ended'
      if (!isLast && unread === 0 && session === undefined) return undefined
      await this.#host.pause(pauseMs)
    }
    return undefined
  }
}

const SET_TRIES = 3
const HEARD_MS = 256

function specOf(
  given: Timing &
    ScheduleOptions & {
      readonly workflow: WorkflowContract<never, unknown>
      readonly input?: unknown
    },
): ScheduleSpec {
  checkOptions(wholeSchedule, given, { of: 'a schedule' })
  const { workflow, input, overlap = 'allow', catchUp = 'skip', jitter, from, until, run } = given
  if (workflow?.is !== 'workflow') {
    throw new PawlError('INPUT_INVALID', 'a schedule needs a workflow: set(id, { workflow, … }).')
  }
  if ('cron' in given && 'every' in given)
    throw new PawlError('INPUT_INVALID', 'a schedule has `cron` or `every`, not both.')
  const timing: Timing =
    'cron' in given
      ? { cron: given.cron, ...(given.timeZone !== undefined && { timeZone: given.timeZone }) }
      : { every: given.every, ...(given.offset !== undefined && { offset: given.offset }) }
  timingOf(timing)
  if (timingText(timing) === undefined) throw tooLong()
  return {
    timing,
    workflow: checkName(workflow.name, 'the name of a workflow'),
    input,
    overlap,
    catchUp,
    jitterMs: jitter === undefined ? 0 : milliseconds(jitter, 'jitter'),
    ...(from && { from: instant(from, 'from') }),
    ...(until && { until: instant(until, 'until') }),
    run: runOf(run ?? {}),
  }
}

function runOf({
  attributes,
  memo,
  priority,
  queue,
  runTimeout,
}: NonNullable<ScheduleOptions['run']>): ScheduledRun {
  return {
    ...(attributes && { attributes }),
    ...(memo && { memo }),
    ...(priority !== undefined && { priority: checkPriority(priority) }),
    ...(queue !== undefined && { queue: checkName(queue, 'the name of a queue') }),
    ...(runTimeout !== undefined && { runTimeout: milliseconds(runTimeout, 'runTimeout') }),
  }
}

// Nobody is there to be told when a slot comes: whatever would be wrong then is found now.
function checkState(state: ScheduleState): void {
  const { id, spec } = state
  storedAttributes({ ...spec.run.attributes, schedule: id, slot: new Date(0) })
  // What it remembers beside its plan takes some room, too.
  const room = ' '.repeat(limits.scheduleStateBytes)
  encode({ ...state, room }, 'a schedule, with its input and memo,')
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
  const timing = JSON.parse(String(text ?? '{"every":1000}')) as Timing
  const first = next instanceof Date ? next.getTime() : undefined
  const last = until instanceof Date ? until.getTime() : Number.MAX_SAFE_INTEGER
  const slots =
    first === undefined
      ? []
      : slotsBetween(timingOf(timing), first - 1, last, limits.slotsShown).slots
  return {
    id: String(id ?? ''),
    workflow: String(workflow ?? ''),
    paused: paused === true,
    timing,
    next: slots.map((slot) => new Date(slot)),
    ...(note !== undefined && note !== '' && { note: String(note) }),
    ...(lastRunId !== undefined && lastRunId !== '' && { lastRunId: String(lastRunId) }),
  }
}

function instant(date: Date, what: string): number {
  const time = Number(date)
  if (time >= INSTANT_MIN && time <= INSTANT_MAX) return time
  throw new PawlError('INPUT_INVALID', `${what} is not a valid Date from year 0 to 9999.`)
}

function tooLong(): PawlError {
  const message = `the timing takes more than ${limits.attributeBytesMax} bytes as JSON. Make several schedules of it.`
  return new PawlError('INPUT_INVALID', message)
}

function neverDue(timing: Timing): PawlError {
  const message = `the schedule would never start anything: ${JSON.stringify(timing)} has no slot in the years to come.`
  return new PawlError('INPUT_INVALID', message)
}

function tooMany(): PawlError {
  const message = `there are more than ${limits.backfillSlotsMax} slots between from and to. Back-fill a shorter span at a time.`
  return new PawlError('INPUT_INVALID', message)
}

function missing(id: string): PawlError {
  return new PawlError('RUN_NOT_FOUND', `there is no schedule '${id}' in this store.`)
}
