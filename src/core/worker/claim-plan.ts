// What to ask the store for, and when: how much there is room for, whether work was left behind, whether this worker
// should fall quiet for runs that may have killed their last holder, and whether an answer may have been lost.

import { limits } from '../base/limits.ts'
import type { Registry } from '../definitions/registry.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Claimed, ClaimRequest } from '../stores/store.ts'
import type { Directory } from './directory.ts'
import { Suspects } from './suspects.ts'
import type { WorkerSettings } from './worker-settings.ts'

/** How full the worker is. */
export interface Load {
  readonly runs: number
  readonly tasks: number
  readonly runsMax: number
  readonly freeSlots: number
}

export type Wish = Pick<ClaimRequest, 'runs' | 'suspects' | 'tasks' | 'reconcile'> & {
  readonly asksForNews: boolean
}

export class ClaimPlan {
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #load: () => Load
  readonly #suspects: Suspects
  /** The last claim left work behind. */
  #hungry = false
  #hungryForTasks = false
  /** How many more claims look for leases this worker does not know of. */
  #doubt = 0
  #newsAskedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pollMs: number, load: () => Load) {
    this.#clock = clock
    this.#pollMs = pollMs
    this.#load = load
    this.#suspects = new Suspects(clock, () => this.#isIdle())
  }

  /** Runs wait that may have killed their last holder. Until they are tried, nothing else is begun beside them. */
  get isQuiet(): boolean {
    return this.#suspects.isQuiet
  }

  /** Work was left behind, and there is enough room to be worth a claim. */
  get hasAppetite(): boolean {
    const { runs, runsMax, freeSlots } = this.#load()
    if (this.#suspects.holdsBack) return false
    if (this.#suspects.mayBeTaken && this.#isIdle()) return true
    if (this.#hungryForTasks && freeSlots > 0) return true
    return this.#hungry && runsMax - runs >= Math.min(limits.claimRunsMin, runsMax)
  }

  /** An answer got lost. What was asked for may have been done, or may be done later. */
  doubt(times: number): void {
    this.#doubt = Math.max(this.#doubt, times)
  }

  get inDoubt(): boolean {
    return this.#doubt > 0
  }

  /** There may be messages for runs that are held. */
  expectNews(): void {
    this.#newsAskedAt = Number.NEGATIVE_INFINITY
  }

  wish(): Wish {
    const { runs, runsMax, freeSlots } = this.#load()
    const suspects = this.#suspects.take()
    const holdBack = this.#suspects.holdsBack
    return {
      runs: holdBack ? 0 : Math.min(limits.claimRuns, Math.max(0, runsMax - runs)),
      suspects,
      tasks: holdBack ? 0 : Math.min(limits.claimRuns, freeSlots),
      asksForNews: this.#asksForNews(),
      ...(this.#doubt > 0 && { reconcile: true }),
    }
  }

  /** Takes note of an answer, and says how long to wait for the next claim if nothing happens before. */
  learn(wish: Wish, claimed: Claimed, now: number): number {
    if (wish.reconcile) this.#doubt--
    const gotSuspects = this.#suspects.learn(claimed, wish.suspects)
    // What was found again says nothing about what is left; and it may be lost again, so there is no hurry.
    if (wish.reconcile && claimed.runs.length > 0) return limits.reconcilePauseMs
    // A claim for nothing says nothing about what is left, and one for suspects nothing about the others.
    if (wish.runs > 0) this.#hungry = gotSuspects || claimed.runs.length >= wish.runs
    // No room to ask for any: whatever rang may still be there.
    else this.#hungry = true
    this.#hungryForTasks = claimed.tasks.length >= wish.tasks
    if (this.hasAppetite) return 0
    if (this.#suspects.isQuiet) return this.#suspects.pauseMs
    const due = claimed.nextDue === undefined ? Number.POSITIVE_INFINITY : claimed.nextDue - now
    return Math.max(1, Math.min(due, this.inDoubt ? limits.idlePollMs : this.#pollMs))
  }

  #isIdle(): boolean {
    const { runs, tasks } = this.#load()
    return runs + tasks === 0
  }

  // Asking about a thousand runs each time would cost more than the claim: when there was a hint, and now and then.
  #asksForNews(): boolean {
    const now = this.#clock.monotonic()
    if (this.#doubt === 0 && now - this.#newsAskedAt < limits.newsPollMs) return false
    this.#newsAskedAt = now
    return true
  }
}

/** What a worker asks for, with what it has code for and whose runs it takes. */
export function requestOf(
  { runs, suspects, tasks }: Wish,
  { build, queues }: WorkerSettings,
  { activityNames }: Registry,
  { pins, workflows }: Directory,
  own: Pick<ClaimRequest, 'session' | 'silent' | 'nonce' | 'held' | 'heldTasks'>,
): ClaimRequest {
  const names = { workflows, activities: activityNames }
  return { ...own, build, ...(pins && { pins }), queues, ...names, runs, suspects, tasks }
}
