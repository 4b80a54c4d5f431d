// Moves runs from one store to another, page by page. The same move continues where an earlier one was interrupted: all
// that it needs to know is in the two stores.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { LIVE, RETENTION } from '../../core/index.ts'
import { isRefused } from '../../core/runtime/availability.ts'
import { type ListQuery, leftReason, MOVER, type RunSnapshot } from '../../core/stores/driver.ts'
import { copyDefinitions } from './definitions.ts'
import { forEach, type MovePorts, Refusal, type RefusalReason } from './ports.ts'
import { Releaser } from './releaser.ts'
import { refuseSameStore } from './same-store.ts'
import { Trees } from './trees.ts'

/** A run that stays where it is, with all runs that depend on it. */
export interface RefusedRun {
  readonly runId: string
  /**
   * `held`: a worker did not release it in time. `otherMove`: another move holds it. `taken`: the target has the run,
   * or another run in progress with its workflow id. `changed`, `different`: it was not copied faithfully, because
   * something wrote to it. `left`: it cannot be released, because its parent has moved. `streams`: it has streams,
   * which cannot move yet. `refused`: the target cannot store it.
   */
  readonly reason: RefusalReason
  readonly message: string
}

/** What a move did. */
export interface MoveReport {
  readonly from: string
  readonly to: string
  /** Runs that were found, if the move was only tried. */
  readonly found?: number
  /** Of these, runs that a worker held. */
  readonly held?: number
  /** Runs that moved. When a move was ended: runs that were released. */
  readonly moved: number
  /** Records of definitions and builds that were copied. */
  readonly definitions: number
  readonly refused: readonly RefusedRun[]
  /** Codecs that bodies were encoded with: processes that use the target need them. */
  readonly codecs: readonly string[]
}

export type MoveQuery = Omit<ListQuery, 'limit' | 'cursor'>

export class Mover {
  readonly #ports: MovePorts
  readonly #trees: Trees
  readonly #releaser: Releaser
  readonly #codecs = new Set<string>()
  /** By the topmost run of those that depend on each other. */
  readonly #refused = new Map<string, RefusedRun>()
  readonly #tell: (moved: number) => void
  #moved = 0

  constructor(ports: MovePorts, tell: (moved: number) => void = () => {}) {
    this.#ports = ports
    this.#tell = tell
    this.#releaser = new Releaser(ports)
    this.#trees = new Trees(ports, this.#releaser, this.#codecs)
  }

  async move(query: MoveQuery): Promise<MoveReport> {
    await refuseSameStore(this.#ports)
    const definitions = await copyDefinitions(this.#ports)
    try {
      await this.#finish(query)
      // Runs that began behind the first page are found by another pass.
      for (let before = -1; this.#moved !== before; ) {
        before = this.#moved
        await this.#eachPage(query, (runs) => this.#movePage(runs))
      }
    } finally {
      await this.#releaser.close()
    }
    return { ...this.#report(), definitions }
  }

  /** Counts the runs that a move would find. */
  async try(query: MoveQuery): Promise<MoveReport> {
    let [found, held] = [0, 0]
    await this.#eachPage(query, async (runs) => {
      found += runs.filter((run) => run.status !== 'moved' && !staysHere(run)).length
      held += runs.filter(({ session = MOVER }) => session !== MOVER).length
    })
    return { ...this.#report(), found, held }
  }

  /** Ends a move that was interrupted: runs that have not left go on where they are. */
  async abort(query: MoveQuery): Promise<MoveReport> {
    await refuseSameStore(this.#ports)
    const live = { ...query, statuses: query.statuses ?? LIVE }
    await this.#eachPage(live, (runs) => forEach(runs.filter(isHeld), limits.moveTreesAtOnce, (run) => this.#end(run)))
    return this.#report()
  }

  async #end({ head: { runId } }: RunSnapshot): Promise<void> {
    const gone = await this.#trees.goneWith(runId)
    if (gone === undefined) {
      this.#count(await this.#trees.release([runId]))
      return
    }
    const message = `the parent of run ${runId} has moved to ${gone}. Repeat the move without --abort to finish it.`
    this.#refused.set(runId, { runId, reason: 'left', message })
  }

  /** Finishes what an interrupted move has begun, whatever its filter was. */
  async #finish(query: MoveQuery): Promise<void> {
    const left = { statuses: ['moved'], reason: leftReason(this.#ports.to.place) } as const
    await this.#eachPage(left, (runs) =>
      forEach(runs, limits.moveTreesAtOnce, ({ head }) => this.#trees.arrive(head.runId)),
    )
    // Without a filter, the move finds them anyway.
    if (Object.keys(query).length === 0) return
    await this.#eachPage({ statuses: LIVE }, (runs) => this.#movePage(runs.filter(isHeld)))
  }

  async #eachPage(query: MoveQuery, work: (runs: readonly RunSnapshot[]) => Promise<void>): Promise<void> {
    for (let cursor: string | undefined; ; ) {
      const page = { ...query, limit: limits.movePageRuns, ...(cursor !== undefined && { cursor }) }
      const { runs, cursor: next } = await this.#ports.from.send((store) => store.list(page))
      await work(runs)
      cursor = next
      if (cursor === undefined) return
    }
  }

  async #movePage(runs: readonly RunSnapshot[]): Promise<void> {
    const roots = new Set<string>()
    await forEach(runs, limits.moveTreesAtOnce, async (run) => {
      if (run.status === 'moved' || staysHere(run)) return
      const root = run.endedAt === undefined ? await this.#trees.rootOf(run) : run
      if (!this.#refused.has(root.head.runId)) roots.add(root.head.runId)
    })
    await forEach(roots, limits.moveTreesAtOnce, async (rootId) => {
      try {
        this.#count(await this.#trees.move(rootId))
      } catch (error) {
        this.#refuse(rootId, error)
      }
    })
  }

  #count(runs: number): void {
    this.#moved += runs
    this.#tell(this.#moved)
  }

  #refuse(rootId: string, error: unknown): void {
    const known = isRefused(error) ? new Refusal(rootId, 'refused', (error as PawlError).message) : error
    if (!(known instanceof Refusal)) throw error
    const { runId, reason, message } = known
    this.#refused.set(rootId, { runId, reason, message: `${message}.` })
  }

  #report(): MoveReport {
    const { from, to } = this.#ports
    const refused = [...this.#refused.values()]
    const codecs = [...this.#codecs].sort()
    return { from: from.place, to: to.place, moved: this.#moved, definitions: 0, refused, codecs }
  }
}

function isHeld({ session }: RunSnapshot): boolean {
  return session === MOVER
}

/** The policy of a retention is of its store, and so is the run that carries it out. */
function staysHere({ head }: RunSnapshot): boolean {
  return head.name === RETENTION
}
