// Runs the demo. This process is a client of the run and never a worker.

import { formatDuration } from '../../core/base/time.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import type { Engine, RunHandle } from '../../index.ts'
import { historyOf } from '../history.ts'
import { whySentence } from '../show-why.ts'
import type { LedgerLine } from './order-workflow.ts'
import { approval, interrupted, order, plan, readLedger, type Shipped } from './order-workflow.ts'
import type { Screen } from './screen.ts'
import { type DemoSnapshot, snapshotOf, stepOf } from './snapshot.ts'
import type { DemoWorkers } from './workers.ts'

export interface DemoSetup {
  readonly engine: Engine
  readonly store: string
  readonly ledger: string
  readonly workers: DemoWorkers
  readonly screen: Screen
}

export interface DemoResult {
  readonly workflowId: string
  readonly result: Shipped
  readonly check: DemoCheck
  readonly elapsedMs: number
}

const frameMs = 80
/** How long a body runs before its worker is killed. */
const killAfterMs = 400
/** How long a state is shown before the demo continues. */
const momentMs = 1_200
/** How long the demo waits for the next state. */
const timeoutMs = 30_000

export async function runDemo(setup: DemoSetup): Promise<DemoResult> {
  const { engine, workers } = setup
  const first = await workers.start('worker-1')
  const run = await engine.start(order, { id: 'A-1001', cents: 4900 }, { workflowId: 'order-A-1001' })
  const demo = new DemoRun(setup, run)
  demo.say(`worker-1 runs as its own process (pid ${first.pid}); order A-1001 is started`)
  const killed = await killInTheMiddle(demo)
  await takeOver(demo)
  await approve(demo)
  const end = await demo.until(({ why }) => why.reason === 'ended')
  const result = await run.result()
  const { workflowId } = run
  return { workflowId, result, check: checkResult(killed, end), elapsedMs: demo.elapsed() }
}

async function killInTheMiddle(demo: DemoRun): Promise<DemoSnapshot> {
  await demo.until((snapshot) => (stepOf(snapshot, interrupted)?.ran ?? 0) > 0)
  await demo.hold(killAfterMs)
  await demo.kill('worker-1')
  const snapshot = await demo.look()
  const recorded = snapshot.steps.filter(({ state }) => state === 'recorded').length
  demo.say(`SIGKILL to worker-1 during ${interrupted}; ${recorded} results are recorded by now`)
  demo.say(`why does it wait? ${whySentence(snapshot.why, snapshot.now)}`)
  await demo.hold(momentMs / 2)
  return snapshot
}

async function takeOver(demo: DemoRun): Promise<void> {
  const { pid } = await demo.setup.workers.start('worker-2')
  demo.say(`worker-2 (pid ${pid}) is started; it may take over when worker-1's lease of 2 s ends`)
  const snapshot = await demo.until(({ ledger, why }) => {
    return ledger.some((line) => line.pid === pid) || why.reason === 'signal'
  })
  const last = snapshot.ledger.at(-1)
  const again = last?.pid === pid ? `: ${last.step} starts again, attempt ${last.attempt}` : ''
  const waited = formatDuration(Math.round((demo.elapsed() - demo.killedAt) / 100) * 100)
  demo.say(`worker-2 took the run over ${waited} after the kill${again}`)
}

async function approve(demo: DemoRun): Promise<void> {
  const { why, now } = await demo.until((snapshot) => snapshot.why.reason === 'signal')
  demo.say(`why does it wait? ${whySentence(why, now)}`)
  await demo.hold(momentMs)
  await demo.run.signal(approval, { by: 'Ada' })
  demo.say('signal approval is sent')
  const asleep = await demo.until(({ why: { reason } }) => reason === 'timer' || reason === 'ended')
  if (asleep.why.reason === 'timer') {
    demo.say(`why does it wait? ${whySentence(asleep.why, asleep.now)}`)
  }
}

class DemoRun {
  readonly setup: DemoSetup
  readonly run: RunHandle<Shipped>
  killedAt = 0
  readonly #begun = systemClock.monotonic()

  constructor(setup: DemoSetup, run: RunHandle<Shipped>) {
    this.setup = setup
    this.run = run
  }

  elapsed(): number {
    return systemClock.monotonic() - this.#begun
  }

  say(text: string): void {
    this.setup.screen.say(text, this.elapsed())
  }

  kill(id: string): Promise<void> {
    this.killedAt = this.elapsed()
    return this.setup.workers.kill(id)
  }

  /** Refreshes the screen until the condition is true. */
  async until(isReached: (snapshot: DemoSnapshot) => boolean): Promise<DemoSnapshot> {
    const begun = this.elapsed()
    for (;;) {
      const snapshot = await this.look()
      if (isReached(snapshot)) return snapshot
      if (this.elapsed() - begun > timeoutMs) {
        const { why, now } = snapshot
        throw new Error(`the demo makes no progress. ${whySentence(why, now)}`)
      }
      await sleep(systemClock, frameMs)
    }
  }

  async hold(ms: number): Promise<void> {
    const end = this.elapsed() + ms
    await this.until(() => this.elapsed() >= end)
  }

  async look(): Promise<DemoSnapshot> {
    const { workers, ledger, screen } = this.setup
    workers.check()
    const why = await this.run.why()
    const history = await historyOf(this.run)
    const timeline = await this.run.timeline()
    const now = systemClock.now()
    const snapshot = snapshotOf({
      now,
      history,
      timeline,
      why,
      ledger: readLedger(ledger),
      workers: workers.all,
    })
    screen.show(snapshot, this.elapsed())
    return snapshot
  }
}

// Checks the claim of the demo: a step whose result is recorded never runs again.

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
