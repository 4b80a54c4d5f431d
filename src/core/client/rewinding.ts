// Begins a run again: where it failed, at a step, or as another run that shares its past.

import { digestPayload } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { encode } from '../base/value.ts'
import { rewindOf } from '../deciders/rewind.ts'
import type { Begins } from '../deciders/rewind-history.ts'
import { type AttributeChanges, changedAttributes } from '../kernel/attributes.ts'
import { decodePayload, decodeTurn, encodePayload, encodeTurn } from '../kernel/codec.ts'
import type { Event, HistoryEvent } from '../kernel/event.ts'
import { decodeExtras, encodeExtras } from '../kernel/extras.ts'
import { INPUT_KEY } from '../kernel/key.ts'
import type { Message } from '../kernel/message.ts'
import { RunState } from '../kernel/run.ts'
import type { Beginning, Created, NewRun, RunSnapshot, StoredTurn, Wakes } from '../stores/store.ts'

/** Where a fork goes on from, and what is different there. */
export interface ForkOptions {
  /** The key of the step to go on from, or its name if there is one step of it. */
  readonly step: string
  /** Another input for the workflow. */
  readonly input?: unknown
  /** Results to go on with, by the key or name of a step, instead of those recorded. */
  readonly results?: Readonly<Record<string, unknown>>
}

/** @internal */
export interface RewindPorts {
  post(runId: string, message: Message, wakes: Wakes): Promise<unknown>
  create(run: NewRun): Promise<Created>
  newId(): string
  newTurnId(): number
}

/** A run at rest, and its whole history. @internal */
export interface Rested {
  readonly run: RunSnapshot
  readonly turns: readonly StoredTurn[]
}

/** @internal */
export class Rewinding {
  readonly #ports: RewindPorts
  readonly #run: RunSnapshot
  readonly #events: readonly HistoryEvent[]

  constructor(ports: RewindPorts, { run, turns }: Rested) {
    this.#ports = ports
    this.#run = run
    this.#events = turns.flatMap(({ seq, body }) =>
      decodeTurn(body).events.map((event, index) => ({ ...event, seq: seq + index + 1 })),
    )
  }

  /** From the step its failure came from. Its idempotency keys stay: what was done under them is not done twice. */
  retry(): Promise<void> {
    this.#refuseUnbegun()
    const { generation } = this.#run.head
    const { keysOf = generation, attempt = 1 } = this.#began ?? {}
    const begins = {
      reason: 'retried',
      ...this.#input,
      ...this.#foundBy,
      keysOf,
      attempt: attempt + 1,
    } as const
    return this.#again(rewindOf(this.#events).retried(this.#events, begins, this.#run.now))
  }

  reset(step: string): Promise<void> {
    const begins = { reason: 'reset', ...this.#input, ...this.#foundBy } as const
    return this.#again(rewindOf(this.#events).resetTo(this.#events, step, begins, this.#run.now))
  }

  /** Another run; this one stays as it is. */
  async fork(options: ForkOptions): Promise<string> {
    const { head, attributes } = this.#run
    const given = 'input' in options
    const begins = given
      ? { input: encode(options.input, 'the input of the fork'), parsed: false }
      : this.#input
    const { input } = begins
    const results = new Map(
      Object.entries(options.results ?? {}).map(([step, value]) => [
        step,
        encode(value, `the result of step '${step}'`),
      ]),
    )
    const runId = this.#ports.newId()
    // What the schema made of the old input is not what it makes of another.
    const edit = { results, ...(given && { dropped: INPUT_KEY }) }
    const began = { reason: 'forked', ...begins, ...this.#foundBy, from: head.runId } as const
    const events = rewindOf(this.#events).forkedAt(
      this.#events,
      options.step,
      edit,
      began,
      this.#run.now,
    )
    const { name, queue, priority } = head
    // It begins now, whenever the other did, and waits for nobody to let it.
    const { from: _, delayMs: __, pending: ___, ...rest } = decodeExtras(head.extras)
    const extras = encodeExtras(rest)
    await this.#ports.create({
      runId,
      name,
      queue,
      priority,
      workflowId: runId,
      reuse: 'allow',
      input: encodePayload(input),
      digest: digestPayload(input),
      past: this.#beginning(events),
      attributes: changedAttributes(attributes, this.#changes(events)),
      ...(extras !== undefined && { extras }),
    })
    return runId
  }

  get #began(): Extract<HistoryEvent, { type: 'GenerationBegan' }> | undefined {
    const [first] = this.#events
    return first?.type === 'GenerationBegan' ? first : undefined
  }

  /** What this generation began with, and whether it was parsed, if it says so itself. */
  get #input(): Pick<Begins, 'input' | 'parsed' | 'triggeredAt'> {
    if (this.#began) {
      const { input, parsed, triggeredAt } = this.#began
      const known = { ...(parsed !== undefined && { parsed }) }
      return { input, ...known, ...(triggeredAt !== undefined && { triggeredAt }) }
    }
    const triggered = this.#events.find((event) => event.type === 'RunTriggered')
    if (triggered?.input) return { input: triggered.input, parsed: false }
    return { input: decodePayload(this.#run.head.input) }
  }

  /** What this generation was found by where it began, if it says so itself. */
  get #foundBy(): Pick<Begins, 'attributes'> {
    const { attributes } = this.#began ?? {}
    return attributes ? { attributes } : {}
  }

  // What was set where the run does not stand any more is as it was before. Other attributes stay: of a run that an
  // older release started, nobody knows which it was started with.
  #changes(kept: readonly Event[]): AttributeChanges {
    const begun = this.#foundBy.attributes ?? decodeExtras(this.#run.head.extras).attributes ?? {}
    const stands = changedAttributes(begun, RunState.of(kept).changes ?? {})
    const was = new Map(Object.entries(this.#run.attributes))
    const is = new Map(Object.entries(stands))
    const set = Object.keys(RunState.of(this.#events).changes ?? {})
    const same = (name: string): boolean =>
      JSON.stringify(was.get(name)) === JSON.stringify(is.get(name))
    return Object.fromEntries(
      set.flatMap((name) => (same(name) ? [] : [[name, is.get(name) ?? null] as const])),
    )
  }

  // What waited to be triggered and was stopped before that has nothing to go on with.
  #refuseUnbegun(): void {
    const { head } = this.#run
    if (!decodeExtras(head.extras).pending || RunState.of(this.#events).triggered) return
    const message = `run ${head.runId} ended before it was triggered, so there is nothing to try again. Start another.`
    throw new PawlError('RUN_ENDED', message)
  }

  async #again(events: readonly Event[]): Promise<void> {
    const { head } = this.#run
    const { runId, name, queue, priority, workflowId, input, generation } = head
    const attributes = this.#changes(events)
    const created = await this.#ports.create({
      ...{ runId, name, queue, priority, workflowId, input, digest: '', reuse: 'allow' },
      generation: generation + 1,
      past: this.#beginning(events),
      ...(Object.keys(attributes).length > 0 && { attributes }),
    })
    // It is there if the first answer was lost.
    if (created.outcome === 'created' || created.outcome === 'existing') return this.#leavePause()
    if (created.outcome === 'refused' && created.archived) throw archived(runId)
    throw meanwhile(runId)
  }

  // A run that ended has taken all of its messages and stopped its children. One that was paused may have further
  // requests to pause in its inbox, which must not pause the new generation.
  async #leavePause(): Promise<void> {
    if (this.#run.endedAt !== undefined) return
    const { runId } = this.#run.head
    await this.#ports.post(
      runId,
      { type: 'resume', id: `resume:${this.#ports.newId()}` },
      { resumes: true },
    )
    await this.#stopChildren()
  }

  // The new generation starts others in their place.
  async #stopChildren(): Promise<void> {
    const { runId, generation } = this.#run.head
    for (const open of RunState.of(this.#events).open.values()) {
      if (open.type !== 'child' || open.onClose === 'abandon') continue
      const id = `parent:${runId}:${generation}`
      const reason = 'its parent went back to before it was started'
      await this.#ports.post(open.child, { type: 'cancel', id, reason }, { urgent: true })
    }
  }

  #beginning(events: readonly Event[]): Beginning {
    try {
      const body = encodeTurn({ build: 'by hand', events })
      return { turnId: this.#ports.newTurnId(), count: events.length, body }
    } catch (error) {
      const { runId } = this.#run.head
      const message = `the past of run ${runId} is too large to begin with: ${limits.turnBytesMax} bytes are possible.`
      throw new PawlError('PAYLOAD_TOO_LARGE', message, { cause: error })
    }
  }
}

function archived(runId: string): PawlError {
  return new PawlError(
    'RUN_ENDED',
    `run ${runId} has ended and was packed away: this store keeps it only to be read. Fork it: the fork begins with its past.`,
  )
}

function meanwhile(runId: string): PawlError {
  return new PawlError(
    'RUN_ALREADY_EXISTS',
    `run ${runId} has begun again meanwhile: somebody else was faster, or it has gone on by itself.`,
  )
}
