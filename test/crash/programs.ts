// What crashes are tried on: small programs that together use everything that is written to a store. A client that dies
// is started again and performs the whole program once more, so each of them looks first what has been done.

import { sleep } from '../../src/core/runtime/clock.ts'
import {
  type ActivityContext,
  type AnyActivity,
  type AnyWorkflow,
  type Engine,
  PawlError,
  type RunHandle,
} from '../../src/index.ts'
import type { SimulatedProcess } from '../../src/testing/simulated-process.ts'

/** What programs have of the process they run in. */
export interface Stage {
  readonly process: SimulatedProcess
  /** Runs a body that is written down, and takes a moment. Its result says nothing about who ran it. */
  readonly body: (step: ActivityContext, generation?: number) => Promise<number>
  /** The client was told that this run is there, and that these signals were taken. */
  promise(runId: string, ...signals: readonly string[]): void
  violate(what: string): void
}

export interface Program {
  definitions(stage: Stage): {
    readonly workflows: readonly AnyWorkflow[]
    readonly activities: readonly AnyActivity[]
  }
  /** What a client does. Its outcome is the same whichever process dies. */
  perform(engine: Engine, stage: Stage): Promise<unknown>
}

// Every crash may cost an attempt, and no step may fail for that.
export const RETRY = { maxAttempts: 6, initial: 20, max: 50 } as const
export const lookMs = 50

/** Says what the call is refused with, if it is one of these: an earlier life of this client may have done it. */
export async function unless(codes: readonly PawlError['code'][], call: () => Promise<unknown>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof PawlError) || !codes.includes(error.code)) throw error
  }
}

/** How a run ended, and which of its steps did, in order. */
export async function endOf(run: RunHandle<unknown>, stage: Stage): Promise<unknown> {
  for (;;) {
    const { endedAt, status, output, failure } = await run.describe()
    if (endedAt === undefined) {
      await sleep(stage.process.clock, lookMs)
      continue
    }
    const steps: string[] = []
    for await (const { type, step } of run.history()) if (type === 'StepCompleted') steps.push(step ?? '')
    return { status, output, failure: failure?.cause?.message, steps }
  }
}
