// Moves runs that depend on each other together: a run in progress with its parents and children in progress. All of
// them are held and copied before the first leaves, and all have left before the first goes on in the target. Those
// above leave first, so a run whose parent has left cannot stay behind.
import { limits } from '../../core/base/limits.ts'
import { LIVE } from '../../core/index.ts'
import { sleep } from '../../core/runtime/clock.ts'
import { digestOfRun, leftTo, MOVER, type RunSnapshot } from '../../core/stores/driver.ts'
import { copyRun, wholeRun } from './copy.ts'
import { type MovePorts, Refusal, transfer } from './ports.ts'
import type { Releaser } from './releaser.ts'

/** Times that a run is copied again because a message arrived meanwhile. */
const COPIES_MAX = 20

export class Trees {
  readonly #ports: MovePorts
  readonly #releaser: Releaser
  readonly #codecs: Set<string>

  constructor(ports: MovePorts, releaser: Releaser, codecs: Set<string>) {
    this.#ports = ports
    this.#releaser = releaser
    this.#codecs = codecs
  }

  /** The topmost run in progress above this one. */
  async rootOf(run: RunSnapshot): Promise<RunSnapshot> {
    for (let root = run; ; ) {
      const parent = await this.#parentOf(root)
      if (!parent || parent.endedAt !== undefined) return root
      root = parent
    }
  }

  /** Moves a run with all that depend on it, and returns how many they are. */
  async move(rootId: string): Promise<number> {
    const held: string[] = []
    const seen = new Map<string, string>()
    try {
      const members = await this.#gather(rootId, held)
      for (const runId of members) seen.set(runId, await copyRun(this.#ports, runId, this.#codecs))
      for (const [runId, digest] of seen) await this.#leave(runId, digest)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if ((await this.goneWith(rootId)) === undefined)
        await this.release([...new Set([...held, ...seen.keys(), rootId])])
      throw error
    }
    for (const runId of seen.keys()) await this.arrive(runId)
    return seen.size
  }

  /** Lets a run go on in the target that has left the source. */
  async arrive(runId: string): Promise<void> {
    const { to, move } = this.#ports
    await transfer(to, { type: 'free', runId, move })
  }

  /** Lets runs go on at the source that have not left. Returns how many were held. */
  async release(runIds: readonly string[]): Promise<number> {
    const { from, to, move } = this.#ports
    let released = 0
    for (const runId of runIds) {
      // The copy in the target must never go on there.
      const there = await this.#load(runId, to)
      const copy = there?.session === MOVER ? await wholeRun(to, runId) : undefined
      if (copy) await transfer(to, { type: 'leave', runId, move, seen: digestOfRun(copy), to: from.place })
      const { outcome } = await transfer(from, { type: 'free', runId, move })
      if (outcome === 'done') released++
    }
    return released
  }

  /** Where the run has gone, or the parent that it depends on. */
  async goneWith(runId: string): Promise<string | undefined> {
    const run = await this.#load(runId)
    if (run?.status === 'moved') return leftTo(run.reason)
    if (run?.endedAt !== undefined) return undefined
    const parent = run && (await this.#parentOf(run))
    return parent?.status === 'moved' ? leftTo(parent.reason) : undefined
  }

  /** Holds the run, then its children in progress, and theirs: a run that is held starts no more children. */
  async #gather(rootId: string, held: string[]): Promise<string[]> {
    const members: string[] = []
    for (const line = [rootId]; line.length > 0; ) {
      const runId = line.shift() as string
      const state = await this.#hold(runId, held)
      if (state === 'gone' || (state === 'ended' && runId !== rootId)) continue
      await this.#refuseStreams(runId)
      members.push(runId)
      if (state === 'held') line.push(...(await this.#childrenOf(runId)))
    }
    return members
  }

  async #refuseStreams(runId: string): Promise<void> {
    const [loaded] = await this.#ports.from.send((store) => store.load([{ type: 'streams', runId }]))
    if (loaded?.type !== 'streams' || (loaded.streams ?? []).length === 0) return
    throw new Refusal(runId, 'streams', `run ${runId} has streams, which cannot move yet: it stays where it is`)
  }

  async #hold(runId: string, held: string[]): Promise<'held' | 'ended' | 'gone'> {
    const { from, move, clock, patienceMs } = this.#ports
    const until = clock.monotonic() + patienceMs
    held.push(runId)
    for (let pauseMs: number = limits.movePollMsMin; ; pauseMs = Math.min(pauseMs * 2, limits.movePollMsMax)) {
      const { outcome } = await transfer(from, { type: 'hold', runId, move })
      if (outcome === 'done') return 'held'
      if (outcome !== 'busy') held.splice(held.indexOf(runId), 1)
      if (outcome === 'ended') return 'ended'
      if (outcome === 'other') {
        const text = `run ${runId} is held by another move. Finish that move, or end it with --abort`
        throw new Refusal(runId, 'otherMove', text)
      }
      if (outcome !== 'busy') return 'gone'
      if (clock.monotonic() >= until) {
        const text = `a worker holds run ${runId} or one of its tasks. Stop the workers, or move it again later`
        throw new Refusal(runId, 'held', text)
      }
      await this.#releaser.look()
      await sleep(clock, pauseMs)
    }
  }

  /** If messages have arrived since the run was copied, it is copied again. */
  async #leave(runId: string, copied: string): Promise<void> {
    const { from, to, move } = this.#ports
    let seen = copied
    for (let copies = 1; copies < COPIES_MAX; copies++) {
      const left = await transfer(from, { type: 'leave', runId, move, seen, to: to.place })
      if (left.outcome === 'done' || (left.outcome === 'left' && left.to === to.place)) return
      if (left.outcome !== 'changed') break
      const run = await this.#load(runId)
      if (run?.endedAt === undefined && run?.session !== MOVER) break
      seen = await copyRun(this.#ports, runId, this.#codecs)
    }
    throw new Refusal(runId, 'changed', `run ${runId} changes while it is moved. Move it again later`)
  }

  async #childrenOf(parentId: string): Promise<string[]> {
    const found: string[] = []
    for (let cursor: string | undefined; ; ) {
      const query = { parentId, statuses: LIVE, limit: limits.movePageRuns, ...(cursor !== undefined && { cursor }) }
      const page = await this.#ports.from.send((store) => store.list(query))
      found.push(...page.runs.map(({ head }) => head.runId))
      cursor = page.cursor
      if (cursor === undefined) return found
    }
  }

  #parentOf({ head: { parent } }: RunSnapshot): Promise<RunSnapshot | undefined> {
    return parent ? this.#load(parent.runId) : Promise.resolve(undefined)
  }

  async #load(runId: string, side = this.#ports.from): Promise<RunSnapshot | undefined> {
    const [loaded] = await side.send((store) => store.load([{ type: 'run', runId }]))
    return loaded?.type === 'run' ? loaded.run : undefined
  }
}
