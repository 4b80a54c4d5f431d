// Batches whose preview is kept: what is shown is what is done, whatever starts or ends in between.
import { defined } from '../../core/base/defined.ts'
import {
  checkOptions,
  choice,
  type Described,
  given,
  option,
  required,
  text,
  whole,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import {
  BATCH,
  type Client,
  ENDED,
  LIVE,
  type Page,
  type RunFilter,
  type RunHandle,
  type RunRecord,
  type Status,
} from '../../core/index.ts'
import { Batch, type BatchOutcome, RETRIED } from './batch.ts'
import { type BatchAct, type BatchPlan, batchWorkflow, start } from './workflow.ts'

/** The states that each operation is for, unless the filter names some. */
const AMONG = {
  cancel: LIVE,
  terminate: LIVE,
  pause: LIVE,
  resume: ['paused'],
  retry: RETRIED,
  reset: ['paused', ...ENDED],
  migrate: ['paused'],
  signal: LIVE,
} as const satisfies Readonly<Record<BatchAct['operation'], readonly Status[]>>
export const BATCH_OPERATIONS = Object.keys(AMONG) as readonly BatchAct['operation'][]

export const previewOptions = {
  /** What is done to each run. */
  operation: required(choice('What is done to each run.', BATCH_OPERATIONS)),
  /** The most runs. */
  limit: required(whole('The most runs.', [1, limits.batchRunsMax])),
  /** The reason, for the histories of the runs. */
  reason: text('The reason, for the histories of the runs.'),
  /** Of `reset`: the step. */
  step: text('Of `reset`: the step to reset to.'),
  /** Of `signal`: its name. */
  name: text('Of `signal`: its name.'),
  /** Of `signal`: its payload. */
  payload: given<unknown>('Of `signal`: its payload.', 'anything that can be stored'),
  /** Of `migrate`: the definition to use. */
  definitionHash: text('Of `migrate`: the definition to use.'),
  /** Of `migrate`: new names of steps by their old names. */
  steps: option<Readonly<Record<string, string | null>>>(
    'Of `migrate`: new names of steps by their old names; `null` skips a step.',
    'an object of names',
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { schema: { type: 'object' } },
  ),
} as const
/** What a batch does. */
export interface PreviewOptions extends Described<typeof previewOptions> {}

/** A batch with a kept preview, and how far it is. */
export interface BatchRecord {
  readonly id: string
  readonly operation: BatchAct['operation']
  readonly reason?: string
  /** `preview` until it is started; `expired` if that did not happen within an hour. */
  readonly state: 'preview' | 'running' | 'done' | 'stopped' | 'expired' | 'failed'
  /** How many runs it is for. */
  readonly matched: number
  /** How many of them it has done so far, and how many it failed for. */
  readonly done: number
  readonly failed: number
  /** The runs it failed for, when it has ended: at most the first 1,000. */
  readonly failures: BatchOutcome['failures']
  readonly createdAt: Date
  readonly endedAt?: Date
}

/** The preview of a batch: what it would be done to. */
export interface BatchPreview extends BatchRecord {
  readonly byStatus: Readonly<Record<string, number>>
  readonly byWorkflow: Readonly<Record<string, number>>
  /** The first runs. */
  readonly sample: readonly { readonly runId: string; readonly workflowId: string; readonly status: Status }[]
}

/** Batches that are previewed first: `engine.batches`. */
export class Batches {
  readonly #client: Client

  /** @internal */
  constructor(client: Client) {
    this.#client = client
  }

  /** Lists the runs that match, and keeps the list. Nothing happens to them until `start`. */
  async preview(filter: RunFilter, options: PreviewOptions): Promise<BatchPreview> {
    checkOptions(previewOptions, options, { of: 'a batch' })
    const { limit, reason } = options
    const act = actOf(options)
    const batch = new Batch(this.#client, filter, { limit })
    const runs = await batch.preview<RunRecord>(AMONG[act.operation])
    const startsAgain = act.operation === 'retry' || act.operation === 'reset'
    const generations = startsAgain ? runs.map(({ generation }) => generation) : undefined
    const plan: BatchPlan = defined({ act, runIds: runs.map(({ runId }) => runId), generations, reason })
    const attributes = defined({
      batch: act.operation,
      matched: runs.length,
      done: 0,
      failed: 0,
      reason: noted(reason),
    })
    const run = await this.#client.start(batchWorkflow, plan, { attributes })
    return {
      ...recordOf(await run.describe()),
      byStatus: countBy(runs, ({ status }) => status),
      byWorkflow: countBy(runs, ({ name }) => name),
      sample: runs.slice(0, limits.batchSample).map(({ runId, workflowId, status }) => ({ runId, workflowId, status })),
    }
  }

  /** Starts a batch that was previewed. Starting it again changes nothing. */
  async start(id: string): Promise<void> {
    const run = await this.#run(id)
    try {
      await run.signal(start, undefined, { messageId: 'start' })
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'RUN_ENDED') throw error
      const { state } = await this.get(id)
      if (state !== 'expired' && state !== 'stopped') return
      throw new PawlError('RUN_ENDED', `batch ${id} is ${state}, so it cannot be started. Preview it again.`)
    }
  }

  async get(id: string): Promise<BatchRecord> {
    return recordOf(await (await this.#run(id)).describe())
  }

  /** Batches, newest first. */
  async list(page: { readonly limit?: number; readonly cursor?: string } = {}): Promise<Page<BatchRecord>> {
    const { items, cursor } = await this.#client.list({ workflow: BATCH }, page)
    return defined({ items: items.map(recordOf), cursor })
  }

  /** Stops a batch after the runs it is at. */
  async stop(id: string): Promise<void> {
    await (await this.#run(id)).cancel('the batch was stopped')
  }

  async #run(id: string): Promise<RunHandle<unknown>> {
    const run = this.#client.get(id)
    const { name } = await run.describe()
    if (name === BATCH) return run
    throw new PawlError('RUN_NOT_FOUND', `run ${id} is no batch. \`batches.list()\` lists them.`)
  }
}

/** The fields that an operation needs. */
const NEEDS = { reset: 'step', signal: 'name', migrate: 'definitionHash' } as const

function actOf({ operation, step, name, payload, definitionHash, steps }: PreviewOptions): BatchAct {
  const given = { step, name, payload, definitionHash, steps }
  const needed = operation in NEEDS ? NEEDS[operation as keyof typeof NEEDS] : undefined
  if (needed !== undefined && given[needed] === undefined) {
    throw new PawlError('INPUT_INVALID', `a batch of '${operation}' has no \`${needed}\`; expected a string.`)
  }
  return defined({ operation, ...given }) as BatchAct
}

/** An attribute has a length limit; the whole reason is in the input. */
function noted(reason: string | undefined): string | undefined {
  return reason?.slice(0, limits.noteLengthMax)
}

function recordOf(run: RunRecord): BatchRecord {
  const { runId: id, attributes, createdAt, endedAt, output } = run
  const failures = (output as BatchOutcome | undefined)?.failures ?? []
  return defined({
    id,
    operation: String(attributes['batch']) as BatchAct['operation'],
    reason: attributes['reason'] === undefined ? undefined : String(attributes['reason']),
    state: stateOf(run),
    matched: Number(attributes['matched'] ?? 0),
    done: Number(attributes['done'] ?? 0),
    failed: Number(attributes['failed'] ?? 0),
    failures,
    createdAt,
    endedAt,
  })
}

function stateOf({ status, attributes, output }: RunRecord): BatchRecord['state'] {
  switch (status) {
    case 'completed':
      return output === undefined ? 'expired' : 'done'
    case 'cancelled':
      return 'stopped'
    case 'failed':
      return 'failed'
    default:
      return attributes['started'] === true ? 'running' : 'preview'
  }
}

function countBy<T>(items: readonly T[], key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1
  return counts
}
