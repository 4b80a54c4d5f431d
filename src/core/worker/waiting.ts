// How a held run waits before it is let go of: for what runs to end, or for a while.
import type { RunHost } from './host.ts'
import type { Inbox } from './inbox.ts'
import type { LocalSteps } from './local-steps.ts'
import type { Nap } from './nap.ts'
import { hesitationMs } from './refusals.ts'

export type Mood = 'working' | 'returning' | 'abandoned'

export class Waiting {
  readonly #host: Pick<RunHost, 'now'>
  readonly #nap: Nap
  readonly #steps: LocalSteps
  readonly #inbox: Inbox
  readonly #mood: () => Mood

  constructor(
    host: Pick<RunHost, 'now'>,
    nap: Nap,
    steps: LocalSteps,
    inbox: Inbox,
    mood: () => Mood,
  ) {
    this.#host = host
    this.#nap = nap
    this.#steps = steps
    this.#inbox = inbox
    this.#mood = mood
  }

  /** Until nothing is running any more, or somebody wants the run stopped. */
  async calm(): Promise<void> {
    const isCalm = (): boolean => !this.#steps.underWay || this.#inbox.stop !== undefined
    while (!isCalm() && this.#mood() !== 'abandoned') await this.#nap.take(Number.POSITIVE_INFINITY)
  }

  /** Two builds that can both not go on with it would hand it to and fro as fast as they can. */
  async hesitate(fruitless: number): Promise<void> {
    const until = this.#host.now() + hesitationMs(fruitless)
    while (this.#mood() === 'working' && !this.#inbox.isPressing && this.#host.now() < until)
      await this.#nap.take(until - this.#host.now())
  }
}
