// `/healthz` and `/readyz`: what load balancers and orchestrators ask. They need no token and tell no secrets.
import { limits } from '../core/base/limits.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import type { Engine } from '../engine.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

export class Probes {
  readonly #engines: readonly Engine[]
  readonly #clock: Clock
  #isDraining = false
  #checked: { readonly until: number; readonly problem: Promise<string | undefined> } | undefined

  constructor(engines: readonly Engine[], clock: Clock) {
    this.#engines = engines
    this.#clock = clock
  }

  /** True from the moment the server stops: load balancers send their requests elsewhere. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  drain(): void {
    this.#isDraining = true
  }

  /** The answer to a probe; undefined if the request is something else. */
  async answer({ method, target }: HttpRequest): Promise<HttpAnswer | undefined> {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    const [path] = target.split('?', 1)
    // That there is an answer at all says that the event loop turns.
    if (path === '/healthz') return answerOf(undefined)
    if (path !== '/readyz') return undefined
    return answerOf(this.#isDraining ? 'draining' : await this.#storeProblem())
  }

  // Any number of probes make one call to the store per second.
  #storeProblem(): Promise<string | undefined> {
    const now = this.#clock.monotonic()
    if (this.#checked && this.#checked.until > now) return this.#checked.problem
    const problem = this.#askStores()
    this.#checked = { until: now + limits.readyKeptMs, problem }
    return problem
  }

  async #askStores(): Promise<string | undefined> {
    const answered = new AbortController()
    const late = sleep(this.#clock, limits.readyStoreMs, answered.signal).then(() => 'the store does not answer')
    // A store whose schema does not fit refuses the call.
    const asked = Promise.all(this.#engines.map((engine) => engine.records.list('probes', undefined, 1))).then(
      () => undefined,
      () => 'the store refuses calls',
    )
    try {
      return await Promise.race([asked, late])
    } finally {
      answered.abort()
    }
  }
}

function answerOf(problem: string | undefined): HttpAnswer {
  const body = JSON.stringify(problem === undefined ? { status: 'ok' } : { status: 'unavailable', reason: problem })
  return { status: problem === undefined ? 200 : 503, headers: { 'content-type': 'application/json' }, body }
}
