// What a handle gives for what it reads, and what it says when there is nothing to give.

import { checkOptions } from '../base/described.ts'
import { digestPayload, isUuid } from '../base/digest.ts'
import { CancelledError, PawlError, RunError } from '../base/errors.ts'
import { errorOf } from '../base/failure.ts'
import { checkKnownId, checkKnownName } from '../base/names.ts'
import { decode, type Payload } from '../base/value.ts'
import { quote } from '../base/visible.ts'
import type { RunRef } from '../definitions/context.ts'
import { runReference } from '../definitions/options.ts'
import type { Event } from '../kernel/event.ts'
import type { RunSnapshot } from '../stores/store.ts'
import { endingOf } from './record.ts'
import type { Ended } from './results.ts'
import { readFailure, unreadableMessageIn, type Why } from './why.ts'
import { whyText } from './why-text.ts'

export function underWay({ head, status }: RunSnapshot, what: string): PawlError {
  // A run that was resumed keeps its status until a worker has taken it.
  const now = status === 'paused' ? 'has been resumed' : `is ${status}`
  return new PawlError(
    'RUN_NOT_AT_REST',
    `run ${head.runId} ${now}; only a run that has ended or is paused can be ${what}. Pause it first.`,
  )
}

/** A slip of the pen should not look as if the message had been dropped that keeps the run from going on. */
export function discardable({ head, paused, unread }: RunSnapshot, messageId: string): string {
  const known = paused && unreadableMessageIn(readFailure(paused.failure))
  if (known === messageId || known === signalId(messageId) || known === updateId(messageId))
    return known
  if (known === undefined && unread > 0) return messageId
  const instead =
    known === undefined ? 'none of its messages is unread' : `but because of ${quote(known)}`
  const message = `run ${head.runId} does not wait because of message ${quote(messageId)}: ${instead}. Discard the one that \`why\` names.`
  throw new PawlError('INPUT_INVALID', message)
}

export function signalId(messageId: string): string {
  return `signal:${checkKnownId(messageId, 'a message id')}`
}

export function updateId(messageId: string): string {
  return `update:${checkKnownId(messageId, 'a message id')}`
}

export function answerOf(
  events: readonly Event[],
  id: string,
): { readonly value: unknown } | undefined {
  for (const event of events) {
    if (event.type === 'UpdateCompleted' && event.id === id) return { value: decode(event.value) }
    if (event.type !== 'UpdateFailed' || event.id !== id) continue
    const { failure, rejected } = event
    const [code, what] = rejected
      ? (['UPDATE_REJECTED', 'was refused'] as const)
      : (['UPDATE_FAILED', 'failed'] as const)
    throw new PawlError(code, `the update ${what}: ${failure.message}`, {
      cause: errorOf(failure),
    })
  }
  return undefined
}

/** `workflowId`, if known, is what the run is called when it failed. */
export function resultOf(runId: string, ended: Ended, workflowId = runId): unknown {
  const ending = endingOf(ended)
  switch (ending?.type) {
    case 'RunCompleted':
      return decode(ending.value)
    case 'RunCancelled':
      throw new CancelledError(ending.reason)
    case 'RunFailed': {
      const { failure, undone } = ending
      const compensationFailures = undone?.failures ?? []
      const what = `run '${workflowId}'`
      throw new RunError(
        { failure, runId, compensationFailures, what },
        { cause: errorOf(failure) },
      )
    }
    default:
      throw new PawlError('STORE_UNAVAILABLE', `the end of run ${runId} cannot be read`)
  }
}

/** It has not done what was waited for. */
export function notEnded(runId: string, what: string, why: Why): PawlError {
  const { suggestion } = why
  const advice = suggestion === undefined ? '' : `\n${suggestion}`
  const message = `run ${runId} ${what}: ${whyText(why)}${advice}`
  return new PawlError('NOT_ENDED', message, { details: { why } })
}

export function notFound(ref: RunRef): PawlError {
  const what = typeof ref === 'string' ? `run '${ref}'` : `run with workflow id '${ref.workflowId}'`
  return new PawlError(
    'RUN_NOT_FOUND',
    `there is no ${what} in this store. Check the id, and that the store and schema are the ones it was started in.`,
  )
}

export function notYet(what: string): never {
  throw new PawlError(
    'INPUT_INVALID',
    `the ${what} of this handle is known after its first call, for example \`await handle.describe()\`.`,
  )
}

/** The same trigger again changes nothing; another is refused. */
export function checkTriggered(
  runId: string,
  { input: known }: Extract<Event, { type: 'RunTriggered' }>,
  { input }: { readonly input?: Payload },
): void {
  const digest = (each: Payload | undefined): string | undefined => each && digestPayload(each)
  if (digest(known) === digest(input)) return
  const message = `run ${runId} was triggered before, with another input. A run begins once: start another for this one.`
  throw new PawlError('RUN_ALREADY_EXISTS', message, { details: { runId } })
}

/** It was triggered, and no worker has taken that yet. */
export function triggeredUnheard(runId: string): PawlError {
  const message = `run ${runId} was triggered before, and no worker has taken that yet, so it cannot be said whether it was with this input. The first trigger counts. Try again when a worker is there.`
  return new PawlError('TRY_LATER', message, { details: { runId } })
}

type Renamed = Readonly<Record<string, string | null>>

export function checkSteps(steps: Renamed): void {
  for (const [from, to] of Object.entries(steps)) {
    checkKnownName(from, 'the name of a step')
    if (to !== null) checkKnownName(to, `the new name of step '${from}'`)
  }
}

/** Of steps that the run does not have nothing can be said. */
export function refuseUnknown(events: readonly Event[], steps: Renamed): void {
  const known = new Set<string>()
  for (const event of events) {
    if (event.type === 'DefinitionTaken') for (const [name] of event.steps) known.add(name)
    if (event.type !== 'MigrationRequested') continue
    for (const name of Object.values(event.steps)) if (name !== null) known.add(name)
  }
  // One that has not begun has taken no definition yet.
  const unknown = known.size === 0 ? [] : Object.keys(steps).filter((name) => !known.has(name))
  if (unknown.length === 0) return
  const names = [...known].slice(0, 20).join(', ')
  const message = `the run has no step '${unknown[0]}' that could be renamed or skipped; it has: ${names}.`
  throw new PawlError('INPUT_INVALID', message)
}

/** What one step did must not be taken for what another did. */
export function refuseMerging(events: readonly Event[], steps: Renamed): void {
  const names = new Set<string>()
  for (const step of stepsKnown(events)) {
    const name = nameIn(steps, step)
    if (name === null) continue
    if (names.has(name)) {
      const message = `two steps of the run would be '${name}'. Give one of them another name, or skip it: { '${step}': null }.`
      throw new PawlError('INPUT_INVALID', message)
    }
    names.add(name)
  }
}

// By the definition it goes by, and by the names it has got since.
function stepsKnown(events: readonly Event[]): readonly string[] {
  let known: readonly string[] = []
  for (const event of events) {
    if (event.type === 'DefinitionTaken') known = event.steps.map(([name]) => name)
    if (event.type === 'MigrationRequested')
      known = known.flatMap((name) => nameIn(event.steps, name) ?? [])
  }
  return known
}

function nameIn(steps: Renamed, name: string): string | null {
  return Object.hasOwn(steps, name) ? (steps[name] ?? null) : name
}

/** Refuses what names no run. */
export function checkRef(ref: RunRef): void {
  if (typeof ref !== 'string') {
    checkOptions(runReference, ref, { of: 'get' })
    checkKnownId(ref.workflowId, 'a workflow id')
  } else if (!isUuid(ref)) {
    throw new PawlError(
      'RUN_ID_INVALID',
      `${quote(ref)} is not a run id. Run ids are UUIDs such as the one start() gives; for a name of your own use get({ workflowId: '…' }).`,
    )
  }
}
