// Checks of a migration: which steps it may rename or skip.

import { PawlError } from '../base/errors.ts'
import { checkKnownName } from '../base/names.ts'
import type { Event } from '../kernel/event.ts'

/** The new names of steps by their old names; null for a step that is skipped. */
type Renamed = Readonly<Record<string, string | null>>

export function checkStepNames(steps: Renamed): void {
  for (const [from, to] of Object.entries(steps)) {
    checkKnownName(from, 'the name of a step')
    if (to !== null) checkKnownName(to, `the new name of step '${from}'`)
  }
}

/** Throws if a renamed step is unknown to the run, or if two steps would get the same name. */
export function checkSteps(events: readonly Event[], steps: Renamed): void {
  refuseUnknown(events, steps)
  refuseMerging(events, steps)
}

function refuseUnknown(events: readonly Event[], steps: Renamed): void {
  const known = new Set<string>()
  for (const event of events) {
    if (event.type === 'DefinitionTaken') for (const [name] of event.steps) known.add(name)
    if (event.type !== 'MigrationRequested') continue
    for (const name of Object.values(event.steps)) if (name !== null) known.add(name)
  }
  // A run that has not started has no definition yet.
  const unknown = known.size === 0 ? [] : Object.keys(steps).filter((name) => !known.has(name))
  if (unknown.length === 0) return
  const names = [...known].slice(0, 20).join(', ')
  const message = `the run has no step '${unknown[0]}' to rename or skip; expected one of: ${names}.`
  throw new PawlError('INPUT_INVALID', message)
}

// The results of two steps must not be mixed up.
function refuseMerging(events: readonly Event[], steps: Renamed): void {
  const names = new Set<string>()
  for (const step of currentSteps(events)) {
    const name = nameIn(steps, step)
    if (name === null) continue
    if (names.has(name)) {
      const message = `two steps of the run would be '${name}'. Rename one of them, or skip it: { '${step}': null }.`
      throw new PawlError('INPUT_INVALID', message)
    }
    names.add(name)
  }
}

/** The steps of the run's definition, under the names that earlier migrations gave them. */
function currentSteps(events: readonly Event[]): readonly string[] {
  let known: readonly string[] = []
  for (const event of events) {
    if (event.type === 'DefinitionTaken') known = event.steps.map(([name]) => name)
    if (event.type === 'MigrationRequested') known = known.flatMap((name) => nameIn(event.steps, name) ?? [])
  }
  return known
}

function nameIn(steps: Renamed, name: string): string | null {
  return Object.hasOwn(steps, name) ? (steps[name] ?? null) : name
}
