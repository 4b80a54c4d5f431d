// The errors of workflow code that does not fit its history, and of awaits that pawl cannot see.
import { PawlError } from '../../base/errors.ts'
import type { Payload } from '../../base/value.ts'
import type { RecordedRequest } from './journal.ts'

const fixes = (key: string, name = '…'): string => `
To continue the run, do one of these and deploy again:
  was: 'old name'   if the step was renamed:  ${/^(.*\/)?step:[^/]*$/.test(key) ? `ctx.run('${name}', { was: 'old name' }, fn)` : "ctx.run(step, input, { was: 'old name' })"}
  ifPast: 'run'     if the step is new and may run now, after later steps have run
  key: 'name'       if something identifies steps of one name better than their order
If you did not change the code, it depends on something outside ctx, such as Math.random(), Date.now() or the environment. Use ctx.random(), ctx.now() or ctx.sideEffect(() => …) instead.`

/** A request as an error shows it. */
export interface RequestDescription {
  readonly key: string
  readonly name: string
  readonly input?: Payload
  readonly site?: string
}

/** The code requests a step that the history lacks, although the history has later steps. */
export function unknownStep(
  workflow: string,
  requested: RequestDescription,
  ahead: Iterable<RecordedRequest>,
): PawlError {
  const recorded = [...ahead].sort((a, b) => a.seq - b.seq).slice(0, 5)
  const problem = `the code requests ${requested.key}, which this run never recorded, although it has recorded later steps. It is either a new step or an old one renamed, and pawl does not guess: guessing wrong could charge a customer twice.`
  return determinism(workflow, problem, recorded, requested)
}

export function otherStep(workflow: string, requested: RequestDescription, recorded: RecordedRequest): PawlError {
  const problem = `the key ${requested.key} was recorded as ${recordedText(recorded)}, but the code requests it as '${requested.name}'.`
  return determinism(workflow, problem, [recorded], requested)
}

export function otherInput(workflow: string, requested: RequestDescription, recorded: RecordedRequest): PawlError {
  const problem = `the code requests ${requested.key} with another input than was recorded, and several steps have this name: the recorded result may belong to another item.`
  return determinism(workflow, problem, [recorded], requested)
}

/** The history says that the step was cancelled, by a race or a scope, but the code still waits for it. */
export function notCancelled(workflow: string, key: string): PawlError {
  const problem = `${key} was cancelled when this run got there before, but the code still waits for it.`
  return mismatch(workflow, problem, [`${key} cancelled`], key)
}

export function nonDurableAwait(workflow: string, where: string): PawlError {
  return new PawlError(
    'NON_DURABLE_AWAIT',
    `workflow '${workflow}' awaited something that pawl cannot see ${where}. A workflow may await only what ctx returns. Move I/O into ctx.run('name', async () => …) and timers into ctx.sleep, and await nothing else (fetch, setTimeout, fs, import(), crypto.subtle and the like).`,
  )
}

export function duplicateKey(workflow: string, key: string): PawlError {
  return new PawlError(
    'DUPLICATE_STEP_KEY',
    `workflow '${workflow}' used the key '${key}' twice. An explicit key names one step of a run. Make it unique, for example with the id of the item.`,
  )
}

export function requestInQuery(key: string): PawlError {
  return new PawlError(
    'NOT_SUPPORTED',
    `the handler of a query requested ${key}. A query may only read the state of the run. Use an update to do something.`,
  )
}

export function nestedCall(key: string): PawlError {
  return new PawlError(
    'NESTED_DURABLE_CALL',
    `ctx was used inside the body of a step, to request ${key}. A step is recorded as a whole, so its body may not request others. Return from the step first, or move the inner call out of it.`,
  )
}

function determinism(
  workflow: string,
  problem: string,
  recorded: readonly RecordedRequest[],
  requested: RequestDescription,
): PawlError {
  const { key, input } = requested
  return mismatch(workflow, problem, recorded.map(recordedText), `${key}${inputText(input)}`, requested)
}

function mismatch(
  workflow: string,
  problem: string,
  recorded: readonly string[],
  requested: string,
  { key, name, site }: Partial<RequestDescription> = {},
): PawlError {
  const lines = [
    `the code of workflow '${workflow}' does not fit this run's history: ${problem}`,
    `  recorded:  ${recorded.join('\n             ') || '(nothing further)'}`,
    `  requested: ${requested}`,
    ...(site ? [`  at ${site}`] : []),
  ]
  return new PawlError('DETERMINISM', lines.join('\n') + fixes(key ?? requested, name), {
    details: { recorded, requested: [requested] },
  })
}

function recordedText(recorded: RecordedRequest): string {
  const input = 'input' in recorded ? inputText(recorded.input) : ''
  return `#${recorded.seq} ${recorded.key}${input}`
}

function inputText(input: Payload | undefined): string {
  if (!input) return ''
  const json = JSON.stringify(input.json)
  return ` ${json.length > 200 ? `${json.slice(0, 200)}…` : json}`
}

/** The place in the user's code that made a call: the first frame outside pawl. */
export function callSite(stack: string | undefined): string | undefined {
  const frames = stack?.split('\n').slice(1) ?? []
  // Stacks name files by URL or by path; this folder's path is part of both.
  const own = new URL('.', import.meta.url).pathname
  const frame = frames.find((line) => !line.includes(own) && !line.includes('node:internal'))
  return frame?.trim().replace(/^at /, '')
}
