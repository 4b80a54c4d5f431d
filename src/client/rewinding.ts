// Begins a run again: where it failed, at a step, or as another run that shares its past.
import { decodePayload, decodeTurn, encodePayload, encodeTurn } from '../kernel/codec.ts'
import { digestPayload } from '../kernel/digest.ts'
import { PawlError } from '../kernel/errors.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { INPUT_KEY } from '../kernel/key.ts'
import { cutOfFailure, cutOfStep, type Rewind, rewound } from '../kernel/rewind.ts'
import { encode, type Payload } from '../kernel/value.ts'
import type { Beginning, Created, NewRun, RunSnapshot, StoredTurn } from '../stores/store.ts'

export interface ForkOptions {
  /** The key of the step to go on from, or its name if there is one step of it. */
  readonly step: string
  /** Another input for the workflow. */
  readonly input?: unknown
  /** Results to go on with, by the key or name of a step, instead of those recorded. */
  readonly results?: Readonly<Record<string, unknown>>
}

export interface RewindPorts {
  create(run: NewRun): Promise<Created>
  newId(): string
  newTurnId(): number
}

/** A run at rest, and its whole history. */
export interface Rested {
  readonly run: RunSnapshot
  readonly turns: readonly StoredTurn[]
}

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
    const { generation } = this.#run.head
    const { keysOf = generation, attempt = 1 } = this.#began ?? {}
    return this.#again({
      began: { reason: 'retried', ...this.#input, keysOf, attempt: attempt + 1 },
      cut: cutOfFailure(this.#events),
      edited: false,
    })
  }

  reset(step: string): Promise<void> {
    const cut = cutOfStep(this.#events, step)
    return this.#again({ began: { reason: 'reset', ...this.#input }, cut, edited: false })
  }

  /** Another run; this one stays as it is. */
  async fork(options: ForkOptions): Promise<string> {
    const { head, attributes } = this.#run
    const given = 'input' in options
    const begins = given
      ? { input: encode(options.input, 'the input of the fork'), parsed: false }
      : this.#input
    const { input } = begins
    const results = Object.fromEntries(
      Object.entries(options.results ?? {}).map(([step, value]) => [
        step,
        encode(value, `the result of step '${step}'`),
      ]),
    )
    const runId = this.#ports.newId()
    const past = this.#beginning({
      began: { reason: 'forked', ...begins, from: head.runId },
      cut: cutOfStep(this.#events, options.step),
      results,
      edited: given || Object.keys(results).length > 0,
      // What the schema made of the old input.
      ...(given && { without: INPUT_KEY }),
    })
    const { name, queue, priority, extras } = head
    await this.#ports.create({
      runId,
      name,
      queue,
      priority,
      workflowId: runId,
      reuse: 'allow',
      input: encodePayload(input),
      digest: digestPayload(input),
      past,
      attributes,
      ...(extras !== undefined && { extras }),
    })
    return runId
  }

  get #began(): Extract<HistoryEvent, { type: 'GenerationBegan' }> | undefined {
    const [first] = this.#events
    return first?.type === 'GenerationBegan' ? first : undefined
  }

  /** What this generation began with, and whether it was parsed, if it says so itself. */
  get #input(): { readonly input: Payload; readonly parsed?: boolean | null } {
    if (!this.#began) return { input: decodePayload(this.#run.head.input) }
    const { input, parsed } = this.#began
    return { input, ...(parsed !== undefined && { parsed }) }
  }

  async #again(rewind: Rewind): Promise<void> {
    const { head } = this.#run
    const { runId, name, queue, priority, workflowId, input, generation } = head
    const created = await this.#ports.create({
      ...{ runId, name, queue, priority, workflowId, input, digest: '', reuse: 'allow' },
      generation: generation + 1,
      past: this.#beginning(rewind),
    })
    // It is there if the first answer was lost.
    if (created.outcome === 'created' || created.outcome === 'existing') return
    if (created.outcome === 'refused' && created.archived) throw archived(runId)
    throw meanwhile(runId)
  }

  #beginning(rewind: Rewind): Beginning {
    const events = rewound(this.#events, rewind, this.#run.now)
    const body = encodeTurn({ build: 'by hand', events })
    return { turnId: this.#ports.newTurnId(), count: events.length, body }
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
