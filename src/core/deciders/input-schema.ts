// The input of a graph or machine: as the caller gave it, or as the schema of its workflow parsed it. Parsing is a
// step, so that it happens once and its result is recorded.

import type { Failure } from '../base/failure.ts'
import { decode, type Payload } from '../base/value.ts'
import { stepPlan } from '../definitions/plan.ts'
import type { RegisteredWorkflow } from '../definitions/registry.ts'
import { parse } from '../definitions/schema.ts'
import type { RunStep } from '../kernel/command.ts'
import type { StepPlan } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { INPUT_KEY } from '../kernel/ids.ts'
import type { Head } from '../kernel/run.ts'
import type { Unplaced } from './requests.ts'

type Definition = Pick<RegisteredWorkflow, 'style' | 'name' | 'schemas'>

/** The step that parses the input, in every style. */
export const PARSE_INPUT: Unplaced<RunStep> = {
  type: 'RunStep',
  kind: 'sideEffect',
  key: INPUT_KEY,
  name: 'input schema',
}

export class InputSchema {
  readonly #definition: Definition
  readonly #given: Payload
  #parsed: Payload | undefined
  #isNeeded: boolean
  #isRequested = false
  /** The run has got another input than the one its history began with. */
  readonly #isReplaced: boolean

  constructor(definition: Definition, head: Head) {
    this.#definition = definition
    this.#given = head.input
    this.#isReplaced = head.extras.parsed === false
    this.#isNeeded = definition.schemas.input !== undefined && head.extras.parsed !== true
  }

  get isKnown(): boolean {
    return !this.#isNeeded || this.#parsed !== undefined
  }

  /** A new copy for each caller, because the caller may change it. */
  value(): unknown {
    return decode(this.#parsed ?? this.#given)
  }

  /** A run that began before its workflow had a schema keeps its input, unless that input was replaced since. */
  begunWithout(): void {
    if (!this.#isRequested && !this.#isReplaced) this.#isNeeded = false
  }

  /** The command that parses the input, if that is needed and has not been requested. */
  request(after: number): RunStep | undefined {
    if (this.isKnown || this.#isRequested) return undefined
    this.#isRequested = true
    return { ...PARSE_INPUT, after }
  }

  get plan(): StepPlan {
    const { style, name, schemas } = this.#definition
    const what = `the input of ${style} '${name}'`
    const body = (): unknown => schemas.input && parse(schemas.input, this.value(), what)
    return { ...stepPlan({}), body }
  }

  fold(event: HistoryEvent, fail: (failure: Failure) => void): void {
    if (event.type === 'StepStarted') {
      this.#isRequested = true
      this.#isNeeded = true
    } else if (event.type === 'StepCompleted') this.#parsed = event.value
    else if (event.type === 'StepFailed') fail(event.failure)
  }
}
