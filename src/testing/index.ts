// What users import from 'pawl/testing'.
export * from './checkers.ts'
export type { Case, Fixture } from './conformance/case.ts'
export { conformance, runCase } from './conformance/index.ts'
export { type CrashReport, crashAtEveryAwait } from './crash-at-every-await.ts'
export { badNetwork, type Faults, FaultyStore, noFaults } from './faulty-store.ts'
export { readHistory, replay } from './histories.ts'
export { Ledger } from './ledger.ts'
export { MortalProcess } from './process.ts'
export { SeededRandom } from './seeded-random.ts'
export { type SharedStore, type SharedWorld, sharedMemory, sharedObjects } from './shared-store.ts'
export { SeedFailed, type SimulateOptions, simulate } from './simulate.ts'
export {
  type Definitions,
  type ProgramWorld,
  type SimulatedWorld,
  Simulation,
  type SimulationEnd,
  type SimulationOptions,
} from './simulator.ts'
export {
  type Disturbances,
  type Stub,
  type TestClock,
  type TestEngine,
  type TestOptions,
  testEngine,
} from './test-engine.ts'
export { VirtualClock } from './virtual-clock.ts'
