// Whether a run that began with one definition of a machine may continue with another. The code of handlers may change
// freely, because their decisions are recorded. But each open request needs a handler for its end.

import type { PawlError } from '../../base/errors.ts'
import { decode, type Payload } from '../../base/value.ts'
import type { MachinePlan } from '../../definitions/machine-plan.ts'
import { checkNow } from '../../definitions/schema.ts'
import { type DefinitionTaken, type Incompatible, versionMismatch } from '../errors.ts'
import type { MachineRequest, Requests } from './requests.ts'

/** Open requests for whose end the code has no handler. */
export function incompatibleRequests(taken: DefinitionTaken, plan: MachinePlan, requests: Requests): Incompatible[] {
  const hadChildEnded = taken.steps.some(([name, what]) => name === 'childEnded' && what === 'handler')
  return [...requests.all()].flatMap((request) => {
    const isKnown =
      request.kind === 'activity'
        ? plan.activities.has(request.name)
        : request.kind === 'timer'
          ? plan.timers.has(request.name)
          : !hadChildEnded || plan.handlers.childEnded !== undefined
    return isKnown ? [] : [withoutHandler(request)]
  })
}

/** A problem if the code's own schema refuses the state: other code made it. */
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

export function otherDefinition(plan: MachinePlan, taken: DefinitionTaken, found: readonly Incompatible[]): PawlError {
  const fix = 'keep handlers for these in the machine until such runs have ended'
  return versionMismatch(`machine '${plan.name}'`, { taken: taken.hash, code: plan.hash }, found, fix)
}

function withoutHandler({ kind, name, key }: MachineRequest): Incompatible {
  const handler = { activity: 'activityCompleted', timer: 'timerFired', child: 'childEnded' }[kind]
  const message = `${kind} '${name}' (${key}) is in progress, but the machine no longer has ${handler} for it`
  return { step: name, problem: 'removed', message }
}
