// A run that a test moves by hand, turn by turn: what comes in a turn, how often and in which order is the test's to say.

import { encode } from '../../src/core/base/value.ts'
import { deciderOf } from '../../src/core/deciders/decider.ts'
import { Registry } from '../../src/core/definitions/registry.ts'
import type { Execution } from '../../src/core/kernel/decider.ts'
import type { HistoryEvent } from '../../src/core/kernel/event.ts'
import type { Message } from '../../src/core/kernel/message.ts'
import { type Head, RunState } from '../../src/core/kernel/run.ts'
import { Turn } from '../../src/core/kernel/turn.ts'
import type { AnyWorkflow } from '../../src/index.ts'

const world = { breathe: async () => {}, secret: () => '' }

export class ByHand {
  readonly #open: () => Execution
  readonly #head: Head
  readonly #alwaysReplay: boolean
  readonly #state = new RunState()
  readonly #history: HistoryEvent[] = []
  #execution: Execution

  constructor(workflow: AnyWorkflow, alwaysReplay: boolean) {
    const registry = new Registry([workflow], [])
    const registered = registry.workflow(workflow.name)
    if (!registered) throw new Error('the registry has what it was given')
    this.#head = {
      ...{ runId: 'run', name: workflow.name, workflowId: 'run', queue: 'default' },
      ...{ priority: 0, generation: 1, createdAt: 0, input: encode(null, 'input'), extras: {} },
    }
    const decider = deciderOf(registered, registry)
    this.#open = () => decider.open(this.#head, world)
    this.#execution = this.#open()
    this.#alwaysReplay = alwaysReplay
  }

  /** What is recorded of this turn. */
  async turn(...messages: readonly Message[]): Promise<string[]> {
    const turn = new Turn(this.#head, this.#state, this.#state.seq)
    turn.receive(messages)
    const old = this.#alwaysReplay ? this.#history : []
    if (this.#alwaysReplay) this.#execution = this.#open()
    const given = [...old, ...turn.events]
    turn.command(await this.#execution.advance(given, this.#state.seq, old.length), () => true)
    this.#history.push(...turn.events)
    return turn.events.flatMap((event) => ('key' in event ? [`${event.type} ${event.key}`] : []))
  }
}

/** The result of a step, as its body tells. */
export function ended(step: string, id = `task:${step}`): Message {
  const outcome = { ok: true, attempt: 1, value: encode(step, 'a result') } as const
  return { type: 'taskEnded', id, generation: 1, key: `activity:${step}#1`, outcome }
}
