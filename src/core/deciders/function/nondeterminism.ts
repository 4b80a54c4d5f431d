// The errors of a workflow whose code and history do not fit, said so that a person can act on them.
import { PawlError } from '../../base/errors.ts'
import type { Payload } from '../../base/value.ts'
import type { Recorded } from './journal.ts'

const FIXES = `
To go on, do one of these and deploy again:
  was: 'old name'   if the step was renamed:  ctx.run(step, input, { was: 'old name' })
  ifPast: 'run'     if the step is new and may run now, after later steps have run
  key: 'name'       if steps of one name are told apart by something better than their order`

export interface Asked {
  readonly key: string
  readonly name: string
  readonly input?: Payload
  readonly site?: string
}

/** A step that history does not know was asked for where history goes on with another. */
export function unknownStep(workflow: string, asked: Asked, ahead: Iterable<Recorded>): PawlError {
  const recorded = [...ahead].sort((a, b) => a.seq - b.seq).slice(0, 5)
  return determinism(
    workflow,
    `the code asks for ${asked.key}, which this run never recorded, although it has recorded later steps. It is either a new step or an old one renamed, and pawl does not guess: guessing wrong could charge a customer twice.`,
    recorded.map((each) => describe(each)),
    [`${asked.key}${text(asked.input)}`],
    asked.site,
  )
}

export function otherStep(workflow: string, asked: Asked, recorded: Recorded): PawlError {
  return determinism(
    workflow,
    `the key ${asked.key} was recorded as ${describe(recorded)} and is now asked for as '${asked.name}'.`,
    [describe(recorded)],
    [`${asked.key}${text(asked.input)}`],
    asked.site,
  )
}

export function otherInput(workflow: string, asked: Asked, recorded: Recorded): PawlError {
  return determinism(
    workflow,
    `${asked.key} is asked for with another input than it was recorded with, and steps of this name repeat: its recorded result may belong to another item.`,
    [describe(recorded)],
    [`${asked.key}${text(asked.input)}`],
    asked.site,
  )
}

/** A step that was cancelled, by a race or a scope, and that the code now waits for. */
export function stillWanted(workflow: string, key: string): PawlError {
  return determinism(
    workflow,
    `${key} was cancelled when this run got there before, and the code now still waits for it.`,
    [`${key} cancelled`],
    [key],
    undefined,
  )
}

export function nonDurableAwait(workflow: string, where: string): PawlError {
  return new PawlError(
    'NON_DURABLE_AWAIT',
    `workflow '${workflow}' awaited something pawl cannot see ${where}. A run is kept alive only by what goes through ctx: put I/O into ctx.run('name', async () => …), timers into ctx.sleep, and await nothing else (fetch, setTimeout, fs, import(), crypto.subtle and the like).`,
  )
}

export function duplicateKey(workflow: string, key: string): PawlError {
  return new PawlError(
    'DUPLICATE_STEP_KEY',
    `workflow '${workflow}' asked twice for the key '${key}'. An explicit key names one step of a run: make it unique, for example by the id of the item.`,
  )
}

export function queryAsked(key: string): PawlError {
  return new PawlError(
    'NOT_SUPPORTED',
    `a query asked for ${key}. A query only looks: use an update to have something done.`,
  )
}

export function nestedCall(key: string): PawlError {
  return new PawlError(
    'NESTED_DURABLE_CALL',
    `ctx was used inside the body of a step (${key} was asked for there). A step is recorded as a whole: return from it first, or move the inner call out of it.`,
  )
}

function determinism(
  workflow: string,
  what: string,
  recorded: readonly string[],
  requested: readonly string[],
  site: string | undefined,
): PawlError {
  const lines = [
    `the code of workflow '${workflow}' does not fit this run's history: ${what}`,
    `  recorded:  ${recorded.join('\n             ') || '(nothing further)'}`,
    `  requested: ${requested.join('\n             ')}`,
    ...(site ? [`  at ${site}`] : []),
  ]
  return new PawlError('DETERMINISM', lines.join('\n') + FIXES, {
    details: { recorded, requested },
  })
}

function describe(recorded: Recorded): string {
  const input = 'input' in recorded ? text(recorded.input) : ''
  return `#${recorded.seq} ${recorded.key}${input}`
}

function text(input: Payload | undefined): string {
  if (!input) return ''
  const json = JSON.stringify(input.json)
  return ` ${json.length > 200 ? `${json.slice(0, 200)}…` : json}`
}

/** Where in the user's code a call was made: the first frame outside pawl. */
export function callSite(stack: string | undefined): string | undefined {
  const frames = stack?.split('\n').slice(1) ?? []
  // Stacks name files by URL or by path; this folder's path is part of both.
  const own = new URL('.', import.meta.url).pathname
  const frame = frames.find((line) => !line.includes(own) && !line.includes('node:internal'))
  return frame?.trim().replace(/^at /, '')
}
