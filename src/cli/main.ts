#!/usr/bin/env node
// The command line. This file only asks whether Node is new enough: everything else is loaded after that, because
// an old Node would fail on it with a message that helps nobody.
import { nodeProblem } from '../core/runtime/node-version.ts'

const problem = nodeProblem()
if (problem === undefined) {
  const { main } = await import('./program.ts')
  process.exitCode = await main(process.argv)
} else {
  process.stderr.write(`error: ${problem}\n`)
  process.exitCode = 1
}
