// Checks the claim of the demo: a step whose result is recorded never runs again.
import type { LedgerLine } from './ledger.ts'
import { interrupted, plan } from './order-workflow.ts'
import type { DemoSnapshot } from './snapshot.ts'

export interface StepCheck {
  readonly name: string
  readonly ran: number
  readonly recorded: number
  readonly remark: string
}

export interface DemoCheck {
  readonly steps: readonly StepCheck[]
  readonly problems: readonly string[]
}

/** `before` is the state after the worker was killed, `after` the state after the run ended. */
export function checkResult(before: DemoSnapshot, after: DemoSnapshot): DemoCheck {
  const bodies = plan.filter(({ hasBody }) => hasBody)
  const steps = bodies.map(({ name }) => checkStep(name, after))
  const problems = steps.flatMap((step) => problemsOf(step, before, after))
  return { steps, problems }
}

function checkStep(name: string, { history, ledger }: DemoSnapshot): StepCheck {
  const ran = runsOf(name, ledger)
  const recorded = resultsOf(name, history).length
  return { name, ran, recorded, remark: ran === 1 ? '' : remarkOn(name) }
}

function remarkOn(name: string): string {
  return name === interrupted ? 'attempt 1 was killed before it was recorded' : 'attempt 1 failed, as planned'
}

function problemsOf(step: StepCheck, before: DemoSnapshot, after: DemoSnapshot): string[] {
  const { name, ran, recorded } = step
  const problems: string[] = []
  if (recorded !== 1) problems.push(`the result of ${name} was recorded ${recorded} times`)
  const [attempt] = resultsOf(name, after.history)
  if (attempt !== undefined && ran !== attempt) {
    problems.push(`${name} ran ${ran} times, but attempt ${attempt} was recorded`)
  }
  const wasRecorded = resultsOf(name, before.history).length > 0
  if (wasRecorded && ran !== runsOf(name, before.ledger)) {
    problems.push(`${name} ran again although its result was recorded`)
  }
  return problems
}

function runsOf(name: string, ledger: readonly LedgerLine[]): number {
  return ledger.filter((line) => line.step === name).length
}

/** The attempts whose results the history contains. */
function resultsOf(name: string, history: DemoSnapshot['history']): number[] {
  return history.flatMap((event) => (event.type === 'StepCompleted' && event.name === name ? [event.attempt] : []))
}
