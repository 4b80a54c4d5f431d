// Retry, reset and fork: continues a run where it failed, from a step, or as a new run with the same history.

import { defined } from '../base/defined.ts'
import { digestPayload } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { encode } from '../base/value.ts'
import { rewindOf } from '../deciders/decider.ts'
import type { NewGeneration } from '../deciders/rewind-history.ts'
import { type AttributeChanges, changedAttributes } from '../kernel/attributes.ts'
import { decodePayload, decodeTurn, encodePayload, encodeTurn } from '../kernel/codec.ts'
import { stopChild } from '../kernel/endings.ts'
import type { Event, HistoryEvent } from '../kernel/event.ts'
import { decodeExtras, encodeExtras } from '../kernel/extras.ts'
import { INPUT_KEY } from '../kernel/ids.ts'
import type { Message } from '../kernel/message.ts'
import { RunState } from '../kernel/run.ts'
import type { Created, InitialTurn, NewRun, RunSnapshot, StoredTurn, Wakes } from '../stores/store.ts'

/** Where a fork continues, and what it changes. */
export interface ForkOptions {
  /** The key of the step to continue from, or its name if only one step has it. */
  readonly step: string
  /** Another input for the workflow. Default: the same input. */
  readonly input?: unknown
  /** Results that replace the recorded ones, by the key or name of a step. */
  readonly results?: Readonly<Record<string, unknown>>
}

/** @internal */
export interface RewindPorts {
  post(runId: string, message: Message, wakes: Wakes): Promise<unknown>
  create(run: NewRun): Promise<Created>
  newId(): string
  newTurnId(): number
}

/** A run that is paused or has ended, and its whole history. @internal */
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

  /** Continues from the step that failed. Idempotency keys stay the same, so that services do not repeat their work. */
  retry(): Promise<void> {
    this.#refuseUnbegun()
    const { generation } = this.#run.head
    const { keysOf = generation, attempt = 1 } = this.#began ?? {}
    const begins = {
      reason: 'retried',
      ...this.#chapter,
      ...this.#input,
      ...this.#foundBy,
      keysOf,
      attempt: attempt + 1,
    } as const
    return this.#again(rewindOf(this.#events).retried(this.#events, begins, this.#run.now))
  }

  reset(step: string): Promise<void> {
    const begins = { reason: 'reset', ...this.#chapter, ...this.#input, ...this.#foundBy } as const
    return this.#again(rewindOf(this.#events).resetTo(this.#events, step, begins, this.#run.now))
  }

  /** Creates a new run; this one does not change. */
  async fork(options: ForkOptions): Promise<string> {
    const { head, attributes } = this.#run
    const given = 'input' in options
    const begins = given ? { input: encode(options.input, 'the input of the fork'), parsed: false } : this.#input
    const { input } = begins
    const results = new Map(
      Object.entries(options.results ?? {}).map(([step, value]) => [
        step,
        encode(value, `the result of step '${step}'`),
      ]),
    )
    const runId = this.#ports.newId()
    // A new input drops the recorded result of parsing the old one.
    const edit = defined({ results, dropped: given ? INPUT_KEY : undefined })
    const began = { reason: 'forked', ...begins, ...this.#foundBy, from: head.runId } as const
    const events = rewindOf(this.#events).forkedAt(this.#events, options.step, edit, began, this.#run.now)
    const { name, queue, priority } = head
    // A fork starts now: without the delay, start time or `pending` of the original.
    const { from: _, delayMs: __, pending: ___, ...rest } = decodeExtras(head.extras)
    const extras = encodeExtras(rest)
    await this.#ports.create(
      defined({
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
        extras,
      }),
    )
    return runId
  }

  get #began(): Extract<HistoryEvent, { type: 'GenerationBegan' }> | undefined {
    const [first] = this.#events
    return first?.type === 'GenerationBegan' ? first : undefined
  }

  /** Steps that run again write to streams as the same writers, so that what they wrote before is void. */
  get #chapter(): Required<Pick<NewGeneration, 'chapter'>> {
    return { chapter: this.#began?.chapter ?? this.#run.head.generation }
  }

  /** The input of this generation. `parsed` and `triggeredAt` are absent if only the head of the run knows them. */
  get #input(): Pick<NewGeneration, 'input' | 'parsed' | 'triggeredAt'> {
    if (this.#began) {
      const { input, parsed, triggeredAt } = this.#began
      return defined({ input, parsed, triggeredAt })
    }
    const triggered = this.#events.find((event) => event.type === 'RunTriggered')
    if (triggered?.input) return { input: triggered.input, parsed: false }
    return { input: decodePayload(this.#run.head.input) }
  }

  /** The attributes at the start of this generation; absent if only the head of the run knows them. */
  get #foundBy(): Pick<NewGeneration, 'attributes'> {
    return defined({ attributes: this.#began?.attributes })
  }

  // Attributes that were set in dropped steps return to their earlier values. All others stay, because runs of an older
  // release do not record the attributes they were started with.
  #changes(kept: readonly Event[]): AttributeChanges {
    const begun = this.#foundBy.attributes ?? decodeExtras(this.#run.head.extras).attributes ?? {}
    const stands = changedAttributes(begun, RunState.of(kept).changes ?? {})
    const was = new Map(Object.entries(this.#run.attributes))
    const is = new Map(Object.entries(stands))
    const set = Object.keys(RunState.of(this.#events).changes ?? {})
    const same = (name: string): boolean => JSON.stringify(was.get(name)) === JSON.stringify(is.get(name))
    return Object.fromEntries(set.flatMap((name) => (same(name) ? [] : [[name, is.get(name) ?? null] as const])))
  }

  // A pending run that ended before it was triggered has no step to continue from.
  #refuseUnbegun(): void {
    const { head } = this.#run
    if (!decodeExtras(head.extras).pending || RunState.of(this.#events).triggered) return
    const message = `run ${head.runId} ended before it was triggered, so there is nothing to retry. Start another run.`
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
    // 'existing' means that an earlier try succeeded and its answer was lost.
    if (created.outcome === 'created' || created.outcome === 'existing') return this.#leavePause()
    if (created.outcome === 'refused' && created.archived) throw archived(runId)
    throw meanwhile(runId)
  }

  // A run that ended has consumed all of its messages and stopped its children. A paused run may have more pause
  // requests in its inbox, which must not pause the new generation.
  async #leavePause(): Promise<void> {
    if (this.#run.endedAt !== undefined) return
    const { runId } = this.#run.head
    await this.#ports.post(runId, { type: 'resume', id: `resume:${this.#ports.newId()}` }, { resumes: true })
    await this.#stopChildren()
  }

  // The new generation starts its own children.
  async #stopChildren(): Promise<void> {
    const { head } = this.#run
    for (const open of RunState.of(this.#events).open.values()) {
      if (open.type !== 'child' || open.onClose === 'abandon') continue
      const { message } = stopChild(head, open.child, 'cancel', 'its parent was reset to before it was started')
      await this.#ports.post(open.child, message, { urgent: true })
    }
  }

  #beginning(events: readonly Event[]): InitialTurn {
    try {
      const body = encodeTurn({ build: 'by hand', events })
      return { turnId: this.#ports.newTurnId(), count: events.length, body }
    } catch (error) {
      const { runId } = this.#run.head
      const problem = `the history of run ${runId} up to this step has more than ${limits.turnBytesMax} bytes`
      const message = `${problem}, which one turn can hold. Continue from an earlier step, or start a new run.`
      throw new PawlError('PAYLOAD_TOO_LARGE', message, { cause: error })
    }
  }
}

function archived(runId: string): PawlError {
  const message = `run ${runId} has ended and was archived, so this store can only read it. Fork it instead.`
  return new PawlError('RUN_ENDED', message)
}

function meanwhile(runId: string): PawlError {
  const problem = `run ${runId} has begun another generation meanwhile: by another caller, or by itself`
  return new PawlError('RUN_ALREADY_EXISTS', `${problem}. Look at the run, and try again if it is still needed.`)
}
