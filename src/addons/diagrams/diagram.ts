// Draws definitions and runs as Mermaid text: the steps of a graph, the events of a machine, the states of a machine's
// run.
import { PawlError } from '../../core/base/errors.ts'
import {
  type AnyWorkflow,
  type GraphNode,
  type GraphPlan,
  type HistoryEvent,
  idOf,
  type MachinePlan,
  parseRequestKey,
  type RegisteredWorkflow,
} from '../../core/index.ts'
import { movesOf } from './moves.ts'

/** Draws the definition of a graph or a machine. */
export function diagram(definition: AnyWorkflow): string {
  const known = definition as unknown as RegisteredWorkflow
  switch (known.style) {
    case 'graph':
      return graphLines(known.plan).join('\n')
    case 'machine':
      return machineLines(known.machine).join('\n')
    default:
      throw new PawlError(
        'NOT_SUPPORTED',
        `workflow '${known.name}' is a function, whose steps are not known before it runs; expected a graph or a machine.`,
      )
  }
}

/** Draws the states of a run of a machine and the events between them, from `run.history()`. */
export function diagramOf(history: Iterable<HistoryEvent>): string {
  const moves = movesOf(history)
  if (moves.length === 0)
    throw new PawlError('NOT_SUPPORTED', 'the history has no states; expected the history of a machine.')
  const states = new States()
  const arrows = new Arrows()
  const placeOf = (state: string | undefined): string => (state === undefined ? '[*]' : states.idOf(state))
  for (const { from, to, cause, end } of moves) {
    const isStart = from === undefined && cause === undefined
    arrows.add(placeOf(from), placeOf(to), end ?? (isStart ? 'start' : (causeOf(cause) ?? 'an event')))
  }
  return ['stateDiagram-v2', ...states.lines(), ...arrows.lines()].join('\n')
}

function causeOf(event: HistoryEvent | undefined): string | undefined {
  if (event?.type === 'SignalReceived') return `signal ${event.name}`
  if (event?.step === undefined) return undefined
  const request = parseRequestKey(event.step)
  if (!request) return undefined
  const name = request.id === undefined ? request.name : `${request.name} ${idOf(request)}`
  switch (event.type) {
    case 'TimerFired':
      return `timer ${name}`
    case 'ChildCompleted':
      return `child ${name}`
    case 'StepFailed':
      return `${name} failed`
    case 'ChildFailed':
      return `child ${name} failed`
    default:
      return name
  }
}

/** The states, by their labels. */
class States {
  readonly #ids = new Map<string, string>()

  idOf(label: string): string {
    const known = this.#ids.get(label)
    if (known !== undefined) return known
    const id = `s${this.#ids.size + 1}`
    this.#ids.set(label, id)
    return id
  }

  lines(): string[] {
    return [...this.#ids].map(([label, id]) => `  state ${quoted(label)} as ${id}`)
  }
}

/** The transitions, each drawn once with its count. */
class Arrows {
  readonly #counts = new Map<string, number>()

  add(from: string, to: string, label: string): void {
    const arrow = `  ${from} --> ${to} : ${plain(label)}`
    this.#counts.set(arrow, (this.#counts.get(arrow) ?? 0) + 1)
  }

  lines(): string[] {
    return [...this.#counts].map(([arrow, n]) => (n === 1 ? arrow : `${arrow} ×${n}`))
  }
}

function machineLines({ name, activities, timers, signals, handlers }: MachinePlan): string[] {
  const arrows = new Arrows()
  arrows.add('[*]', 'machine', 'start')
  const react = (event: string): void => arrows.add('machine', 'machine', event)
  for (const each of activities.keys()) react(each)
  if (handlers.activityFailed) react('an activity failed')
  if (handlers.childEnded) react('a child ended')
  for (const each of timers) react(`timer ${each}`)
  for (const each of signals.values()) react(`signal ${each}`)
  arrows.add('machine', '[*]', 'complete or fail')
  return ['stateDiagram-v2', `  state ${quoted(name)} as machine`, ...arrows.lines()]
}

function graphLines({ nodes }: GraphPlan): string[] {
  const ids = new Map([...nodes.keys()].map((name, index) => [name, `n${index + 1}`]))
  const boxes = [...nodes.values()].map((node) => `  ${ids.get(node.name)}${boxOf(node)}`)
  const arrows = [...nodes.values()].flatMap(({ name, after, rule }) => {
    const label = rule === 'allSucceeded' ? '' : `|${rule}|`
    return after.map((parent) => `  ${ids.get(parent)} -->${label} ${ids.get(name)}`)
  })
  return ['flowchart TD', ...boxes, ...arrows]
}

// An inline step is a box, an activity or a child has double sides, and a wait is a hexagon.
function boxOf({ name, work, when, each, delayMs, undo }: GraphNode): string {
  const marks = [
    ...(when ? ['if'] : []),
    ...(each ? ['for each'] : []),
    ...(delayMs === undefined ? [] : ['after a delay']),
    ...(undo ? ['can be undone'] : []),
  ]
  const label = quoted(marks.length > 0 ? `${name} (${marks.join(', ')})` : name)
  switch (work.type) {
    case 'wait':
      return `{{${label}}}`
    case 'activity':
    case 'child':
      return `[[${label}]]`
    case 'step':
      return `[${label}]`
  }
}

// In a quoted label only quotes and markup need escapes.
function quoted(text: string): string {
  return `"${text.replace(/[&<>"#;]/g, (char) => `#${char.charCodeAt(0)};`)}"`
}

// The label of an arrow is unquoted and ends with its line.
function plain(text: string): string {
  return text.replace(/[:;#"<>&%{}[\]\n]/g, (char) => `#${char.charCodeAt(0)};`)
}
