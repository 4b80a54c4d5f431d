// The demo's story, from the outside: this process is a client of the run and never a worker.

import { formatDuration } from '../../core/base/duration.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import type { Engine, HistoryEvent, RunHandle } from '../../index.ts'
import { whySentence } from '../sentence.ts'
import { readLedger } from './ledger.ts'
import { approval, interrupted, order, type Shipped } from './order.ts'
import { type Scene, sceneOf, stepOf } from './scene.ts'
import type { Screen } from './screen.ts'
import { judge, type Verdict } from './verdict.ts'
import type { DemoWorkers } from './workers.ts'

export interface Stage {
  readonly engine: Engine
  readonly store: string
  readonly ledger: string
  readonly workers: DemoWorkers
  readonly screen: Screen
}

export interface Told {
  readonly workflowId: string
  readonly result: Shipped
  readonly verdict: Verdict
  readonly elapsedMs: number
}

const frameMs = 80
/** So long a body is let run before its worker is killed, and so long a moment is shown. */
const killAfterMs = 400
const momentMs = 1_200
const patienceMs = 30_000

export async function tell(stage: Stage): Promise<Told> {
  const { engine, workers } = stage
  const first = await workers.start('worker-1')
  const run = await engine.start(
    order,
    { id: 'A-1001', cents: 4900 },
    { workflowId: 'order-A-1001' },
  )
  const story = new Story(stage, run)
  story.say(`worker-1 is a process of its own (pid ${first.pid}); order A-1001 is started`)
  const killed = await killInTheMiddle(story)
  await takeOver(story)
  await approve(story)
  const end = await story.until(({ why }) => why.reason === 'ended')
  const result = await run.result()
  const { workflowId } = run
  return { workflowId, result, verdict: judge(killed, end), elapsedMs: story.elapsed() }
}

async function killInTheMiddle(story: Story): Promise<Scene> {
  await story.until((scene) => (stepOf(scene, interrupted)?.ran ?? 0) > 0)
  await story.hold(killAfterMs)
  await story.kill('worker-1')
  const scene = await story.look()
  const recorded = scene.steps.filter(({ state }) => state === 'recorded').length
  story.say(`SIGKILL to worker-1 during ${interrupted}; ${recorded} results are recorded by now`)
  story.say(`why does it wait? ${whySentence(scene.why, scene.now)}`)
  await story.hold(momentMs / 2)
  return scene
}

async function takeOver(story: Story): Promise<void> {
  const { pid } = await story.stage.workers.start('worker-2')
  story.say(`worker-2 (pid ${pid}) is started; it may take over when worker-1's lease of 2 s ends`)
  const scene = await story.until(({ ledger, why }) => {
    return ledger.some((line) => line.pid === pid) || why.reason === 'signal'
  })
  const last = scene.ledger.at(-1)
  const again = last?.pid === pid ? `: ${last.step} begins again, attempt ${last.attempt}` : ''
  const waited = formatDuration(Math.round((story.elapsed() - story.killedAt) / 100) * 100)
  story.say(`worker-2 took the run over ${waited} after the kill${again}`)
}

async function approve(story: Story): Promise<void> {
  const { why, now } = await story.until((scene) => scene.why.reason === 'signal')
  story.say(`why does it wait? ${whySentence(why, now)}`)
  await story.hold(momentMs)
  await story.run.signal(approval, { by: 'Ada' })
  story.say('signal approval is sent')
  const asleep = await story.until(
    ({ why: { reason } }) => reason === 'timer' || reason === 'ended',
  )
  if (asleep.why.reason === 'timer') {
    story.say(`why does it wait? ${whySentence(asleep.why, asleep.now)}`)
  }
}

class Story {
  readonly stage: Stage
  readonly run: RunHandle<Shipped>
  killedAt = 0
  readonly #begun = systemClock.monotonic()

  constructor(stage: Stage, run: RunHandle<Shipped>) {
    this.stage = stage
    this.run = run
  }

  elapsed(): number {
    return systemClock.monotonic() - this.#begun
  }

  say(text: string): void {
    this.stage.screen.say(text, this.elapsed())
  }

  kill(id: string): Promise<void> {
    this.killedAt = this.elapsed()
    return this.stage.workers.kill(id)
  }

  /** Shows what is, until it is so. */
  async until(so: (scene: Scene) => boolean): Promise<Scene> {
    const begun = this.elapsed()
    for (;;) {
      const scene = await this.look()
      if (so(scene)) return scene
      if (this.elapsed() - begun > patienceMs) {
        const { why, now } = scene
        throw new Error(`the demo stands still. ${whySentence(why, now)}`)
      }
      await sleep(systemClock, frameMs)
    }
  }

  async hold(ms: number): Promise<void> {
    const end = this.elapsed() + ms
    await this.until(() => this.elapsed() >= end)
  }

  async look(): Promise<Scene> {
    const { workers, ledger, screen } = this.stage
    workers.check()
    const why = await this.run.why()
    const history: HistoryEvent[] = []
    for await (const entry of this.run.history()) history.push(entry)
    const timeline = await this.run.timeline()
    const now = systemClock.now()
    const scene = sceneOf({
      now,
      history,
      timeline,
      why,
      ledger: readLedger(ledger),
      workers: workers.all,
    })
    screen.show(scene, this.elapsed())
    return scene
  }
}
