// The conformance suite: what every store must do, as cases that any test runner can run.

import { attributeChangeCases } from './attribute-changes.ts'
import { attributeCases } from './attributes.ts'
import { batchCases } from './batches.ts'
import type { Case, OpenFixture } from './case.ts'
import { claimCases } from './claim.ts'
import { clockCases } from './clocks.ts'
import { commitCases } from './commit.ts'
import { compensatingCases } from './compensating.ts'
import { createCases } from './create.ts'
import { dueCases } from './due.ts'
import { endingCases } from './ending.ts'
import { findingCases } from './finding.ts'
import { generationCases } from './generations.ts'
import { Labels } from './labels.ts'
import { listCases } from './list.ts'
import { loadCases } from './load.ts'
import { movingCases } from './moving.ts'
import { noteCases } from './notes.ts'
import { outboxCases } from './outbox.ts'
import { pauseCases } from './pause.ts'
import { pinCases } from './pins.ts'
import { postCases } from './post.ts'
import { queueCases } from './queues.ts'
import { reconcileCases } from './reconcile.ts'
import { recordCases } from './records.ts'
import { restartCases } from './restarts.ts'
import { sessionCases } from './sessions.ts'
import { startCases } from './start.ts'
import { startWithCases } from './start-with.ts'
import { streamCases } from './streams.ts'
import { suspectCases } from './suspects.ts'
import { taskCases } from './tasks.ts'
import { textCases } from './texts.ts'
import { handleCases } from './two-handles.ts'

export type { Case, Fixture, OpenFixture } from './case.ts'
export { failOverCases } from './fail-over.ts'
export { purgeCases } from './purge.ts'

export const conformance: readonly Case[] = [
  ...createCases,
  ...startCases,
  ...startWithCases,
  ...handleCases,
  ...postCases,
  ...claimCases,
  ...dueCases,
  ...reconcileCases,
  ...suspectCases,
  ...commitCases,
  ...endingCases,
  ...generationCases,
  ...restartCases,
  ...taskCases,
  ...sessionCases,
  ...clockCases,
  ...outboxCases,
  ...pauseCases,
  ...pinCases,
  ...compensatingCases,
  ...noteCases,
  ...recordCases,
  ...streamCases,
  ...movingCases,
  ...loadCases,
  ...queueCases,
  ...listCases,
  ...findingCases,
  ...attributeCases,
  ...attributeChangeCases,
  ...batchCases,
  ...textCases,
]

/** Runs one case on its own empty store. */
export async function runCase(one: Case, makeFixture: () => Promise<OpenFixture>): Promise<void> {
  const fixture = await makeFixture()
  const labels = new Labels()
  const { store, clock, other, losing } = fixture
  const labelled = { store: labels.on(store), other: async () => labels.on(await other()) }
  try {
    await one.run({ ...labelled, clock, losing })
  } finally {
    await fixture.close()
  }
}
