// Counts the tests in a report of vitest's JSON reporter.

type FileResult = { readonly status: string; readonly assertionResults: readonly unknown[] }

type Report = {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly FileResult[]
}

export type TestCount = { readonly passed: number; readonly failed: number }

/** Without a report, because there were no test files or vitest crashed, both counts are 0. */
export function countTests(report: string | undefined): TestCount {
  if (report === undefined) return { passed: 0, failed: 0 }
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(report) as Report
  // A file that failed to load has no tests, but counts as one failure.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  )
  return { passed: numPassedTests, failed: numFailedTests + unloaded.length }
}
