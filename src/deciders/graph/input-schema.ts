// The input of a graph: as it was given, or as its schema made it. What nobody has parsed yet is parsed in a step, and so once.
import { stepPlan } from '../../definitions/plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import { parse } from '../../definitions/schema.ts'
import type { RunStep } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { HistoryEvent } from '../../kernel/event.ts'
import type { Failure } from '../../kernel/failure.ts'
import { INPUT_KEY } from '../../kernel/key.ts'
import type { Head } from '../../kernel/run.ts'
import { decode, type Payload } from '../../kernel/value.ts'

export class InputSchema {
  readonly #graph: RegisteredGraph
  readonly #given: Payload
  #parsed: Payload | undefined
  #needed: boolean
  #asked = false

  constructor(graph: RegisteredGraph, head: Head) {
    this.#graph = graph
    this.#given = head.input
    this.#needed = graph.schemas.input !== undefined && head.extras.parsed !== true
  }

  get isKnown(): boolean {
    return !this.#needed || this.#parsed !== undefined
  }

  /** Made anew for whoever asks, who may change it. */
  value(): unknown {
    return decode(this.#parsed ?? this.#given)
  }

  /** A run that began before there was a schema goes on with what it began with. */
  begunWithout(): void {
    if (!this.#asked) this.#needed = false
  }

  ask(after: number): RunStep | undefined {
    if (this.isKnown || this.#asked) return undefined
    this.#asked = true
    return {
      type: 'RunStep',
      kind: 'sideEffect',
      key: INPUT_KEY,
      name: 'input schema',
      after,
    }
  }

  get plan(): StepPlan {
    const { name, schemas } = this.#graph
    const what = `the input of graph '${name}'`
    const body = (): unknown => schemas.input && parse(schemas.input, this.value(), what)
    return { ...stepPlan({}), body }
  }

  fold(event: HistoryEvent, fail: (failure: Failure) => void): void {
    if (event.type === 'StepStarted') {
      this.#asked = true
      this.#needed = true
    } else if (event.type === 'StepCompleted') this.#parsed = event.value
    else if (event.type === 'StepFailed') fail(event.failure)
  }
}
