// Why a run waits, is paused or failed, as a short text that lists find it by: `signal:approval`, `activity:charge`,
// `paused:DETERMINISM`, `failed:CardDeclined`.
import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Ending } from './event.ts'
import type { OpenRequest } from './requests.ts'
import { isWebhook, webhookName } from './tokens.ts'

export const NAMELESS = ['timer', 'condition'] as const
const NAMED = ['activity', 'backoff', 'completion', 'child', 'signal', 'webhook'] as const
/** The kinds of what a run can wait for. Most come with a name. */
export const WAIT_KINDS = [...NAMED, ...NAMELESS] as const

/** What a run waits for first: a step before a child, a child before a message, a message before a time. */
export function waitReason(open: Iterable<OpenRequest>): string {
  let first: readonly [rank: number, request: OpenRequest] | undefined
  for (const request of open) {
    const rank = RANKS[request.type]
    if (first === undefined || rank < first[0]) first = [rank, request]
    if (rank === 0) break
  }
  // A machine takes its signals at any time, and has no open wait.
  return first ? textOf(first[1]) : named('signal', '')
}

const RANKS = { step: 0, child: 1, wait: 2, timer: 3 } as const

function textOf(request: OpenRequest): (typeof NAMELESS)[number] | `${(typeof NAMED)[number]}:${string}` {
  switch (request.type) {
    case 'step': {
      const isBackingOff = !request.queued && request.retryAt !== undefined
      return named(request.left ? 'completion' : isBackingOff ? 'backoff' : 'activity', request.name)
    }
    case 'child':
      return named('child', request.name)
    case 'wait':
      if (request.condition) return 'condition'
      return isWebhook(request.name) ? named('webhook', webhookName(request.name)) : named('signal', request.name)
    case 'timer':
      return 'timer'
    default:
      return unreachable(request)
  }
}

/** The type of the failure that a run failed with. */
export function endReason(ending: Ending): string | undefined {
  return ending.type === 'RunFailed' ? failureReason('failed', ending.failure) : undefined
}

export function pauseReason(failure: Failure): string {
  return failureReason('paused', failure)
}

/** Of a failed step or child, the type of its own error; of an error of pawl's, its code. */
function failureReason(kind: 'failed' | 'paused', { type, code, cause }: Failure): string {
  if (cause && (type === 'ActivityError' || type === 'RunError')) return failureReason(kind, cause)
  return named(kind, type === 'PawlError' ? (code ?? type) : type)
}

function named<Kind extends string>(kind: Kind, name: string): `${Kind}:${string}` {
  return `${kind}:${name.replaceAll(/\p{Cc}/gu, ' ').slice(0, limits.nameLengthMax)}`
}
