/**
 * `pawl/testing`: a test engine with virtual time, simulation, replay of histories, and the conformance cases of stores.
 *
 * Stable: an exported name changes incompatibly only in a minor version before 1.0, and only in a major version after.
 *
 * @packageDocumentation
 */

export type { Case, Fixture } from './conformance/case.ts'
export { conformance, runCase } from './conformance/index.ts'
export { type CrashReport, crashAtEveryAwait } from './crash-at-every-await.ts'
export { readHistory, replay } from './histories.ts'
export { SeedFailed, type SimulateOptions, simulate } from './simulate.ts'
export {
  type Disturbances,
  type Stub,
  type TestClock,
  type TestEngine,
  type TestOptions,
  testEngine,
} from './test-engine.ts'
export { VirtualClock } from './virtual-clock.ts'
