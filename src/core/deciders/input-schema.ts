// The input of a run: as it was given, or as the schema of its workflow made it. What nobody has parsed yet is parsed in a
// step, and so once.

import type { Failure } from '../base/failure.ts'
import { decode, type Payload } from '../base/value.ts'
import { stepPlan } from '../definitions/plan.ts'
import type { RegisteredWorkflow } from '../definitions/registry.ts'
import { parse } from '../definitions/schema.ts'
import type { RunStep } from '../kernel/command.ts'
import type { StepPlan } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { INPUT_KEY } from '../kernel/key.ts'
import type { Head } from '../kernel/run.ts'

type Definition = Pick<RegisteredWorkflow, 'style' | 'name' | 'schemas'>

export class InputSchema {
  readonly #definition: Definition
  readonly #given: Payload
  #parsed: Payload | undefined
  #needed: boolean
  #asked = false
  /** It is another input than the one its past began with. */
  readonly #isOther: boolean

  constructor(definition: Definition, head: Head) {
    this.#definition = definition
    this.#given = head.input
    this.#isOther = head.extras.parsed === false
    this.#needed = definition.schemas.input !== undefined && head.extras.parsed !== true
  }

  get isKnown(): boolean {
    return !this.#needed || this.#parsed !== undefined
  }

  /** Made anew for whoever asks, who may change it. */
  value(): unknown {
    return decode(this.#parsed ?? this.#given)
  }

  /** A run that began before there was a schema goes on with what it began with, unless that is known not to be parsed. */
  begunWithout(): void {
    if (!this.#asked && !this.#isOther) this.#needed = false
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
    const { style, name, schemas } = this.#definition
    const what = `the input of ${style} '${name}'`
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
