// Whether a run that began by one definition of a machine may go on by another. Its code may change as it likes: what it
// decided is recorded. But for what is under way there must be somebody to tell.

import type { PawlError } from '../../base/errors.ts'
import { decode, type Payload } from '../../base/value.ts'
import type { MachinePlan } from '../../definitions/machine-plan.ts'
import { checkNow } from '../../definitions/schema.ts'
import type { Decision } from '../../kernel/event.ts'
import { type Incompatible, versionMismatch } from '../version-mismatch.ts'
import { type OpenRequest, type Requests } from './requests.ts'

type Taken = Extract<Decision, { type: 'DefinitionTaken' }>

/** What of a run has no place in the code, by the definition it went by so far. */
export function incompatibleRequests(
  taken: Taken,
  plan: MachinePlan,
  requests: Requests,
): Incompatible[] {
  const minded = taken.steps.some(([name, what]) => name === 'childEnded' && what === 'handler')
  return [...requests.all()].flatMap((request) => {
    const isKnown =
      request.kind === 'activity'
        ? plan.activities.has(request.name)
        : request.kind === 'timer'
          ? plan.timers.has(request.name)
          : !minded || plan.handlers.childEnded !== undefined
    return isKnown ? [] : [removed(request)]
  })
}

/** A state that the code's own schema refuses was made by other code. */
export function incompatibleState({ state: schema }: MachinePlan, state: Payload): Incompatible[] {
  if (!schema) return []
  try {
    checkNow(schema, decode(state), 'the state of the run')
    return []
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [{ step: 'state', problem: 'changed', message }]
  }
}

export function otherDefinition(
  plan: MachinePlan,
  taken: Taken,
  found: readonly Incompatible[],
): PawlError {
  const way = 'let the machine keep handlers for these until such runs have ended'
  return versionMismatch(
    `machine '${plan.name}'`,
    { taken: taken.hash, code: plan.hash },
    found,
    way,
  )
}

function removed({ kind, name, key }: OpenRequest): Incompatible {
  const handler = { activity: 'activityCompleted', timer: 'timerFired', child: 'childEnded' }[kind]
  const message = `${kind} '${name}' (${key}) is under way, and the machine has no ${handler} for it any more`
  return { step: name, problem: 'removed', message }
}
