// Deletes runs that ended long ago: now and once, or again and again by a policy that is kept in the store.
import { defined } from '../../core/base/defined.ts'
import { checkOptions } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { type Client, ENDED, RETENTION, type Records, type RunRecord } from '../../core/index.ts'
import { inParts, type RetentionCalls, type RetentionRecord } from './calls.ts'
import {
  Expiry,
  type PurgeOptions,
  purgeOptions,
  type RetentionPolicy,
  refuseEmpty,
  retentionPolicy,
} from './options.ts'
import {
  capable,
  type PassPart,
  type PurgeReport,
  Sweep,
  type SweepOptions,
  type SweepPorts,
  type SweepReport,
} from './sweep.ts'
import { look, retentionWorkflow } from './workflow.ts'

interface Kept {
  readonly policy: RetentionPolicy | null
}

const RECORD = ['retention', 'policy'] as const
/** A run that ends between two calls is replaced by the next. */
const TRIES = 3

/** Which runs are deleted after they ended, and when: `engine.retention`. */
export class Retention implements RetentionCalls {
  readonly #client: Client
  readonly #records: Records
  readonly #ports: SweepPorts

  /** @internal */
  constructor(client: Client, records: Records, ports: SweepPorts) {
    this.#client = client
    this.#records = records
    this.#ports = ports
  }

  async set(policy: RetentionPolicy): Promise<void> {
    await this.#check(policy)
    await this.#records.change<Kept>(...RECORD, () => ({ policy }))
    for (let tries = 0; tries < TRIES; tries++) {
      const input = { purged: 0 }
      const run = await this.#client.signalWithStart(retentionWorkflow, { input, workflowId: RETENTION, signal: look })
      const { status } = await run.describe()
      if (!(ENDED as readonly string[]).includes(status)) return
    }
  }

  async get(): Promise<RetentionRecord | undefined> {
    const policy = await this.#policy()
    if (!policy) return undefined
    return recordOf(policy, await this.#client.get({ workflowId: RETENTION }).describe())
  }

  async remove(): Promise<void> {
    if (!(await this.#policy())) return
    await this.#records.change<Kept>(...RECORD, () => ({ policy: null }))
  }

  async purge(policy: RetentionPolicy, options: PurgeOptions = {}): Promise<PurgeReport> {
    checkOptions(purgeOptions, options, { of: 'a purge' })
    return inParts(options, (part) => this.purgeSome(policy, part))
  }

  /** Goes on deleting for some seconds, and says where the next call continues. @internal */
  async purgeSome(policy: RetentionPolicy, options: PurgeOptions & { readonly from?: string }): Promise<SweepReport> {
    const { from, ...given } = options
    checkOptions(purgeOptions, given, { of: 'a purge' })
    await this.#check(policy)
    return this.#sweep(policy, { ...given, from, forMs: limits.purgeStepMs })
  }

  /** A part of a pass of the policy. @internal */
  async sweep(from: string | undefined, signal: AbortSignal): Promise<PassPart> {
    const policy = await this.#policy()
    if (!policy) return { purged: 0, needed: 0 }
    const { purged, needed, next } = await this.#sweep(policy, { from, signal, forMs: limits.purgeStepMs })
    return defined({ purged, needed, next, everyMs: new Expiry(policy).everyMs })
  }

  #sweep(policy: RetentionPolicy, options: SweepOptions): Promise<SweepReport> {
    return new Sweep(policy, this.#ports, options).run()
  }

  async #check(policy: RetentionPolicy): Promise<void> {
    checkOptions(retentionPolicy, policy, { of: 'a retention' })
    refuseEmpty(policy)
    await this.#ports.send(async (store) => capable(store))
  }

  async #policy(): Promise<RetentionPolicy | undefined> {
    return (await this.#records.get<Kept>(...RECORD))?.value.policy ?? undefined
  }
}

function recordOf(policy: RetentionPolicy, { runId, attributes }: RunRecord): RetentionRecord {
  const { purged = 0, lastPurged, lastNeeded, passedAt } = attributes
  const lastPass =
    passedAt === undefined
      ? undefined
      : { at: new Date(Number(passedAt)), purged: Number(lastPurged), needed: Number(lastNeeded) }
  return defined({ policy, runId, purged: Number(purged), lastPass })
}
