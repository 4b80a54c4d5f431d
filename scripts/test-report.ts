// Reads what vitest's JSON reporter wrote.

type FileResult = { readonly status: string; readonly assertionResults: readonly unknown[] }

type Report = {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly FileResult[]
}

export type TestCount = { readonly passed: number; readonly failed: number }

/** No report, because there were no test files or vitest broke down, counts nothing. */
export function countTests(report: string | undefined): TestCount {
  if (report === undefined) return { passed: 0, failed: 0 }
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(report) as Report
  // A file that could not even be loaded has no tests to fail, yet it is a failure.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  )
  return { passed: numPassedTests, failed: numFailedTests + unloaded.length }
}
