// What users import from 'pawl/testing'.
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
