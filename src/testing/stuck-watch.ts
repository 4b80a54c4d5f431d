// Looks at runs that a test waits for. One that nothing in the test can move any more fails the call that waits for it, with
// what `why` knows; of one that only somebody else can move, a line in the log says so.

import type { Client } from '../core/client/client.ts'
import { notEnded } from '../core/client/errors.ts'
import type { WaitingCall } from '../core/client/waits.ts'
import type { Why } from '../core/client/why.ts'
import { whyText } from '../core/client/why-text.ts'
import { systemClock } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'

interface Watched {
  /** In real time. */
  readonly since: number
  looks: number
  isTold: boolean
}

/** The test had this long, in real time, to do something about it; and time itself this long, if something is due. */
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

  /** Asked whenever nothing moves before time does: often, so it looks less and less often. */
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

  /** The run itself, or the child that it waits for. */
  async #inTheWay(runId: string): Promise<{ readonly runId: string; readonly why: Why }> {
    const why = await this.#client.get(runId).why()
    return why.reason === 'child' ? this.#inTheWay(why.runId) : { runId, why }
  }
}

function newlyWatched(): Watched {
  return { since: systemClock.monotonic(), looks: 0, isTold: false }
}

/** Whether neither time nor a message would move it; but a worker might that the test adds, or a resume. */
function isStuck({ reason }: Why): boolean {
  return reason === 'noWorker' || reason === 'paused'
}

function isForOthers({ reason }: Why): boolean {
  return ['signal', 'webhook', 'condition', 'pending'].includes(reason)
}
