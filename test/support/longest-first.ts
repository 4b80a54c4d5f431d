// Starts the longest test files first, because a long file at the end would leave the other cores idle. Without earlier
// results, vitest orders files by size, which says little about their duration.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longest = [
  'test/crash/kill.test.ts',
  'test/crash/every-call.test.ts',
  'test/crash/outages.test.ts',
  'test/crash/failover.test.ts',
  'test/simulation/simulation.test.ts',
  'test/simulation/graphs.test.ts',
  'test/simulation/objects.test.ts',
  'test/simulation/mutants.test.ts',
  'test/server/fuzz.test.ts',
  'test/server/connections.test.ts',
  'test/operations/operations.test.ts',
  'src/stores/objects/store.test.ts',
  'src/stores/postgres/postgres.test.ts',
  'test/workflows/time-limits.test.ts',
  'test/workflows/schedules.test.ts',
  'test/cli/cli.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((file) => moduleId.endsWith(file))
      return found === -1 ? longest.length : found
    }
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
