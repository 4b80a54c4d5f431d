// What to claim and when: how much there is room for, whether work was left behind, whether this worker should start
// nothing beside runs that may have killed their last holder, and whether an answer may have been lost.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Claimed, ClaimRequest } from '../stores/store.ts'
import { Suspects } from './suspects.ts'

/** How full the worker is. */
export interface Load {
  readonly runs: number
  readonly tasks: number
  readonly runsMax: number
  readonly freeSlots: number
}

/** How much one claim may bring. */
export type ClaimBudget = Pick<ClaimRequest, 'runs' | 'suspects' | 'tasks'> & {
  /** Whether to ask for messages of runs that are held. */
  readonly messages: boolean
  /** Whether to look for leases that this worker does not know of. */
  readonly reconcile: boolean
}

export class ClaimPlan {
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #load: () => Load
  readonly #suspects: Suspects
  /** The last claim left runs behind. */
  #hasBacklog = false
  #hasTaskBacklog = false
  /** How many more claims look for leases that this worker does not know of. */
  #reconcilesLeft = 0
  #askedForMessagesAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pollMs: number, load: () => Load) {
    this.#clock = clock
    this.#pollMs = pollMs
    this.#load = load
    this.#suspects = new Suspects(clock, () => this.#isIdle())
  }

  /** Suspects wait, or were started a moment ago: start nothing beside them. */
  get isForSuspects(): boolean {
    return this.#suspects.comeFirst
  }

  /** Work was left behind, and there is enough room to be worth a claim. */
  get wantsMore(): boolean {
    const { runs, runsMax, freeSlots } = this.#load()
    if (this.#suspects.holdsBack) return false
    if (this.#suspects.mayBeTaken && this.#isIdle()) return true
    if (this.#hasTaskBacklog && freeSlots > 0) return true
    return this.#hasBacklog && runsMax - runs >= Math.min(limits.claimRunsMin, runsMax)
  }

  /** An answer of the store was lost. Its request may have been granted, or may be granted later. */
  reconcile(times: number): void {
    this.#reconcilesLeft = Math.max(this.#reconcilesLeft, times)
  }

  get mustReconcile(): boolean {
    return this.#reconcilesLeft > 0
  }

  /** There may be messages for runs that are held. */
  expectMessages(): void {
    this.#askedForMessagesAt = Number.NEGATIVE_INFINITY
  }

  nextBudget(): ClaimBudget {
    const { runs, runsMax, freeSlots } = this.#load()
    const suspects = this.#suspects.take()
    const { holdsBack } = this.#suspects
    return {
      runs: holdsBack ? 0 : Math.min(limits.claimRuns, Math.max(0, runsMax - runs)),
      suspects,
      tasks: holdsBack ? 0 : Math.min(limits.claimRuns, freeSlots),
      messages: this.#mayAskForMessages(),
      reconcile: this.mustReconcile,
    }
  }

  /**
   * Learns from the answer to a claim. Returns how long to wait for the next one, if nothing wakes the worker before.
   */
  learn(budget: ClaimBudget, claimed: Claimed, now: number): number {
    if (budget.reconcile) this.#reconcilesLeft--
    const gotSuspects = this.#suspects.learn(claimed, budget.suspects)
    // Leases that were found again say nothing about the backlog; and they may be lost again, so there is no hurry.
    if (budget.reconcile && claimed.runs.length > 0) return limits.reconcilePauseMs
    // A claim for no runs says nothing about the backlog, and one that brought suspects nothing about other runs.
    this.#hasBacklog = budget.runs === 0 || gotSuspects || claimed.runs.length >= budget.runs
    this.#hasTaskBacklog = claimed.tasks.length >= budget.tasks
    if (this.wantsMore) return 0
    if (this.#suspects.comeFirst) return this.#suspects.pauseMs
    const { nextDue = Number.POSITIVE_INFINITY, nextLate = Number.POSITIVE_INFINITY } = claimed
    const due = Math.min(nextDue, nextLate) - now
    return Math.max(1, Math.min(due, this.mustReconcile ? limits.idlePollMs : this.#pollMs))
  }

  /** Nothing is held, the last claim left nothing behind, and no answer is missing. */
  get isDone(): boolean {
    return this.#isIdle() && !this.wantsMore && !this.isForSuspects && !this.mustReconcile
  }

  #isIdle(): boolean {
    const { runs, tasks } = this.#load()
    return runs + tasks === 0
  }

  // To ask about a thousand runs in each claim would cost more than the claim itself, so it is done after a hint, and
  // now and then.
  #mayAskForMessages(): boolean {
    const now = this.#clock.monotonic()
    if (!this.mustReconcile && now - this.#askedForMessagesAt < limits.inboxPollMs) return false
    this.#askedForMessagesAt = now
    return true
  }
}
