// What code asks for, given a history once more: told turn by turn as an execution that stays warm is, and each time from
// the start by a new execution, as after an eviction. Both must ask for what was recorded, in the same order.
import { deciderOf } from '../../src/core/deciders/decider.ts'
import { Registry } from '../../src/core/definitions/registry.ts'
import type { Command } from '../../src/core/kernel/command.ts'
import type { Execution } from '../../src/core/kernel/decider.ts'
import type { HistoryEvent } from '../../src/core/kernel/event.ts'
import type { Head } from '../../src/core/kernel/run.ts'
import { headOf as headNow, turnsOf } from '../../src/core/stores/rules/row.ts'
import { decodeHistory, headOf, headSince } from '../../src/core/worker/history.ts'
import type { Definitions, SimulationEnd } from '../../src/testing/simulator.ts'

/** What happened, and what the code asked for then. */
export interface RecordedTurn {
  readonly before: readonly HistoryEvent[]
  readonly happened: readonly HistoryEvent[]
  readonly asked: readonly HistoryEvent[]
}

/** Every generation of every run that ended by its code. */
export function* runsOf({ tables }: SimulationEnd): Iterable<{ head: Head; events: readonly HistoryEvent[] }> {
  for (const row of tables.ended.values()) {
    const all = tables.turns.get(row.head.runId) ?? []
    for (let generation = 1; generation <= row.generation; generation++) {
      const { events } = decodeHistory(turnsOf(all, generation))
      const head = headOf({ head: headNow({ ...row, generation }) })
      yield { head: headSince(head, events), events }
    }
  }
}

export function turnsIn(events: readonly HistoryEvent[]): RecordedTurn[] {
  const turns: RecordedTurn[] = []
  for (let at = 0; at < events.length; ) {
    const begun = at
    while (at < events.length && !isAsked(events[at])) at++
    const happened = events.slice(begun, at)
    const from = at
    while (at < events.length && isAsked(events[at])) at++
    turns.push({ before: events.slice(0, begun), happened, asked: events.slice(from, at) })
  }
  return turns
}

export const asked = (turns: readonly RecordedTurn[]): string[][] => turns.map((turn) => turn.asked.map(lineOfEvent))

export async function decidedWarm(
  workflows: Definitions['workflows'],
  head: Head,
  turns: readonly RecordedTurn[],
): Promise<string[][]> {
  // It makes up the tokens that were made up then.
  const secrets = turns.flatMap((turn) => turn.asked.flatMap(secretOf))
  const execution = openExecution(workflows, head, () => secrets.shift() ?? '')
  const lines: string[][] = []
  for (const turn of turns) lines.push(await decide(execution, turn, turn.happened))
  execution.dispose()
  return lines
}

export async function decidedCold(
  workflows: Definitions['workflows'],
  head: Head,
  turns: readonly RecordedTurn[],
): Promise<string[][]> {
  const lines: string[][] = []
  for (const turn of turns) {
    const secrets = turn.asked.flatMap(secretOf)
    const execution = openExecution(workflows, head, () => secrets.shift() ?? '')
    const given = [...turn.before, ...turn.happened]
    lines.push(await decide(execution, turn, given, turn.before.length))
    execution.dispose()
  }
  return lines
}

// What is done by asking for it is told to the code at once, and it may ask for more.
async function decide(
  execution: Execution,
  turn: RecordedTurn,
  given: readonly HistoryEvent[],
  replayedThrough = 0,
): Promise<string[]> {
  const now = turn.asked[0]?.at ?? given.at(-1)?.at ?? 0
  const commands = await execution.advance(given, now, replayedThrough)
  const keys = new Set(commands.flatMap((command) => ('key' in command ? [command.key] : [])))
  const done = turn.asked.filter((event) => DONE_AT_ONCE.has(event.type) && 'key' in event && keys.has(event.key))
  const lines = commands.flatMap((command) => worthRecording(command, turn)).map(lineOfCommand)
  const isOver = commands.some(({ type }) => ENDS.has(type))
  return done.length === 0 || isOver ? lines : [...lines, ...(await decide(execution, turn, done))]
}

// What has been settled needs no cancelling, even if the code cancels it before it sees that.
function worthRecording(command: Command, { before, happened }: RecordedTurn): Command[] {
  if (command.type !== 'CancelRequests') return [command]
  const settled = new Set(
    [...before, ...happened].flatMap((event) =>
      'key' in event && !isAsked(event) && event.type !== 'StepRetried' ? [event.key] : [],
    ),
  )
  const keys = command.keys.filter((key) => !settled.has(key))
  return keys.length === 0 ? [] : [{ ...command, keys }]
}

const DONE_AT_ONCE: ReadonlySet<string> = new Set([
  'MessageSent',
  'AttributesSet',
  'CompensationBegan',
  'CompensationEnded',
])
const ENDS: ReadonlySet<string> = new Set(['CompleteRun', 'FailRun', 'CancelRun', 'ContinueRun'])

function secretOf(event: HistoryEvent): string[] {
  if (event.type !== 'TokenMade') return []
  return [Buffer.from(event.token, 'base64url').subarray(16).toString('hex')]
}

function openExecution(workflows: Definitions['workflows'], head: Head, secret: () => string): Execution {
  const registry = new Registry(workflows, [])
  const workflow = registry.workflow(head.name)
  if (!workflow) throw new Error(`no code for ${head.name}`)
  return deciderOf(workflow, registry).open(head, { breathe: async () => {}, secret })
}

/** Events by the commands they were made of; all others happened. */
const commandOf: Readonly<Record<string, Command['type']>> = {
  StepStarted: 'RunStep',
  TimerStarted: 'SetTimer',
  WaitStarted: 'AwaitSignal',
  ChildStarted: 'StartChild',
  MessageSent: 'SendMessage',
  AttributesSet: 'SetAttributes',
  CalledOff: 'CancelRequests',
  CompensationBegan: 'BeginCompensation',
  CompensationEnded: 'EndCompensation',
  DefinitionTaken: 'Decide',
  StepSkipped: 'Decide',
  StepRefused: 'Decide',
  ListTaken: 'Decide',
  Patched: 'MarkPatch',
  TokenMade: 'MakeToken',
  UpdateAccepted: 'AcceptUpdate',
  UpdateCompleted: 'AnswerUpdate',
  UpdateFailed: 'AnswerUpdate',
  RunContinued: 'ContinueRun',
  RunCompleted: 'CompleteRun',
  RunFailed: 'FailRun',
  RunCancelled: 'CancelRun',
}

function isAsked(event: HistoryEvent | undefined): boolean {
  return event !== undefined && event.type in commandOf
}

function lineOfEvent(event: HistoryEvent): string {
  return line(commandOf[event.type] ?? '', event)
}

function lineOfCommand(command: Command): string {
  return line(command.type, command.type === 'Decide' ? command.decision : command)
}

function line(type: string, what: object): string {
  const { key, keys, id, after, digest } = what as Record<string, unknown>
  return JSON.stringify([type, key ?? keys ?? id, after, digest])
}
