#!/usr/bin/env node
// The entry of the command line. It checks the version of Node before it loads anything else, because an old Node would
// fail there with an unhelpful message.
import { nodeProblem } from '../core/runtime/node-version.ts'

const problem = nodeProblem()
if (problem === undefined) {
  const { main } = await import('./program.ts')
  process.exitCode = await main(process.argv)
} else {
  process.stderr.write(`error: ${problem}\n`)
  process.exitCode = 1
}
