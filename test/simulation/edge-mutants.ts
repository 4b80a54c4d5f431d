// Planted bugs of the edges: what an error of a store means, what a clock may do, and what a fail-over gives back.
import { from, type Mutant, mutant, patch } from './planting.ts'

const coalesced = 'stores/group-commit/coalesced.ts'
const availability = 'core/runtime/availability.ts'
const commits = 'core/stores/rules/commit.ts'
const sessions = 'core/stores/rules/session.ts'
const worker = 'core/worker/worker.ts'
const lateSessions = 'core/worker/late-sessions.ts'
const storeClock = 'core/worker/store-clock.ts'
const warm = 'core/worker/warm.ts'

export const edgeMutants: readonly Mutant[] = [
  mutant(
    'D1: a turn is refused because of an error that says nothing about it',
    patch(coalesced, 'if (!isRefused(error)) throw', 'if (error === undefined) throw'),
    patch(coalesced, 'if (isUnavailable(known)) for', 'if (isUnavailable(error)) for'),
  ),
  mutant(
    'D1: an error that a store does not explain is thrown as it is',
    patch(
      availability,
      "return error instanceof PawlError ? error : unavailable('the store failed', error)",
      'return error as PawlError',
    ),
  ),
  mutant(
    'D1: missing rights and wrong credentials do not pass',
    patch(
      availability,
      "  'STORE_READ_ONLY',\n  'STORE_URL_INVALID',\n  'STORE_UNSUITABLE',\n",
      "  'STORE_READ_ONLY',\n",
    ),
  ),
  mutant(
    'D2: a late session is freed by the first claim that sees it, without waiting',
    patch(lateSessions, 'return since + ttlMs * limits.leaseSelfStopShare', 'return since + ttlMs * 0'),
  ),
  mutant(
    'D2: a session is freed although it has renewed since it was seen',
    patch(sessions, '&& row.beat === each.beat) free(tx, row)', ') free(tx, row)'),
    patch(lateSessions, 'before?.beat === each.beat ? before.since : now', 'before ? before.since : now'),
    patch('core/stores/rules/session.ts', 'ttlMs / limits.leaseRenewalsPerLife + latenessMs', '0'),
  ),
  mutant(
    'D2: a turn that is stamped ahead of the clock loses its lease, and what it cut off is not counted',
    patch(
      commits,
      "if (isAhead(tx, run, turn)) return { outcome: 'ahead', now: tx.now }",
      "if (turn.at > tx.now + limits.clockAheadMsMax) return { outcome: 'fenced' }",
    ),
    patch(worker, 'if (session.alive && hasBegun) this.#leases.cutOff(held)', ''),
  ),
  mutant(
    'D2: the latest time the store may show is taken for its time',
    patch(storeClock, 'this.#low + this.#clock.monotonic()', 'this.#high + this.#clock.monotonic()'),
  ),
  mutant(
    'faults 2.3: an answer that is read late sets the clock back',
    patch(storeClock, 'this.#low = Math.max(this.#low, low)', 'this.#low = low'),
    patch(
      storeClock,
      'const jumped = low > this.#high + clockStepMs || high < this.#low - clockStepMs',
      'const jumped = low !== this.#low',
    ),
    patch('core/kernel/turn.ts', 'this.#now = Math.max(now, state.at)', 'this.#now = now'),
  ),
  from(
    150,
    mutant(
      'D3: a warm execution is used although its last turn was lost',
      patch(warm, 'isLast && deliveries === 1', 'deliveries === 1'),
    ),
  ),
  from(
    150,
    mutant(
      'D3: a warm execution is used although a holder died since',
      patch(warm, 'isLast && deliveries === 1', 'deliveries > 0'),
    ),
  ),
  mutant(
    'D3: leases of before a fail-over are good after it',
    patch(
      'core/stores/rules/session.ts',
      'return isLeasedBy(row, lease) && row.epoch === lease.epoch',
      'return row.epoch === lease.epoch',
    ),
  ),
  from(
    90,
    mutant(
      'api D1: an activity that failed goes on wherever its run does',
      patch(
        'core/worker/held-execution.ts',
        'isSpent(open, plan) || this.#runsHere(open, plan)',
        'isSpent(open, plan) || open.failed >= 0',
      ),
    ),
  ),
  from(
    425,
    mutant(
      'api D1: the attempt of a holder that died is not counted for what goes to the queue now',
      patch('core/worker/held-execution.ts', '(step.queued && !asked.has(key))', 'step.queued'),
    ),
  ),
  from(
    425,
    mutant(
      'api D1: attempts are counted anew in the task queue',
      patch(
        'core/worker/held-task.ts',
        'return Math.max(failed, this.#body?.failed ?? 0) + deliveries',
        'return failed + deliveries',
      ),
    ),
  ),
  mutant(
    'faults 2.2: a resume does not wake a run that has just been paused',
    patch('core/stores/rules/post.ts', '(!run.paused || urgent || resumes)', '(!run.paused || urgent)'),
  ),
  mutant(
    'INV7: a turn takes messages that it has not read',
    patch(
      commits,
      'if (turn.consumed.length > 0) tx.take(run, turn.consumed)',
      'tx.take(\n    run,\n    tx.inbox(run).map(({ id }) => id),\n  )',
    ),
  ),
]
