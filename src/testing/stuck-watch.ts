// Watches the runs that a test waits for. If a run cannot progress, the waiting call fails with the answer of `why`. If
// only a message from outside can move it, a line in the log says so.
import type { Client } from '../core/client/client.ts'
import { notEnded } from '../core/client/errors.ts'
import type { WaitingCall } from '../core/client/waits.ts'
import type { Why } from '../core/client/why.ts'
import { whyText } from '../core/client/why.ts'
import { systemClock } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'

interface Watched {
  /** When the call began to wait, in real time. */
  readonly since: number
  looks: number
  isTold: boolean
}

/**
 * How long, in real time, a test may take to move the run; longer if a timer is due, because time itself may move it.
 */
const GIVEN_MS = 1_000
const GIVEN_TIME_MS = 5_000

export class StuckWatch {
  readonly #client: Pick<Client, 'get'>
  readonly #logger: Logger
  readonly #watched = new WeakMap<WaitingCall, Watched>()

  constructor(client: Pick<Client, 'get'>, logger: Logger) {
    this.#client = client
    this.#logger = logger
  }

  /** Called whenever only time can move anything. That is often, so each call is checked at growing intervals. */
  async look(calls: readonly WaitingCall[], isSomethingDue: boolean): Promise<void> {
    for (const call of calls) {
      const watched = this.#watched.get(call) ?? newlyWatched()
      this.#watched.set(call, watched)
      watched.looks++
      if (Math.log2(watched.looks) % 1 === 0) await this.#judge(call, watched, isSomethingDue)
    }
  }

  async #judge(call: WaitingCall, watched: Watched, isSomethingDue: boolean): Promise<void> {
    const { runId, why } = await this.#inTheWay(call.runId)
    const waitedMs = systemClock.monotonic() - watched.since
    const hadTime = waitedMs >= (isSomethingDue ? GIVEN_TIME_MS : GIVEN_MS)
    const isHopeless = why.reason === 'paused' && why.note === undefined
    if (isHopeless || (hadTime && isStuck(why))) {
      const what = runId === call.runId ? 'cannot end' : `cannot end before its child ${runId}`
      call.giveUp(notEnded(call.runId, what, why))
    } else if (hadTime && !watched.isTold && isForOthers(why)) {
      watched.isTold = true
      this.#logger.log('warn', `the test waits for run ${call.runId}: ${whyText(why)}`)
    }
  }

  /** Returns the run that blocks: the run itself, or the child it waits for. */
  async #inTheWay(runId: string): Promise<{ readonly runId: string; readonly why: Why }> {
    const why = await this.#client.get(runId).why()
    return why.reason === 'child' ? this.#inTheWay(why.runId) : { runId, why }
  }
}

function newlyWatched(): Watched {
  return { since: systemClock.monotonic(), looks: 0, isTold: false }
}

/** True if only a new worker or a resume can move the run. */
function isStuck({ reason }: Why): boolean {
  return reason === 'noWorker' || reason === 'paused'
}

function isForOthers({ reason }: Why): boolean {
  return ['signal', 'webhook', 'condition', 'pending'].includes(reason)
}
