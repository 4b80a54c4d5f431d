#!/usr/bin/env node
// The command line. This file only asks whether Node is new enough: everything else is loaded after that, because
// an old Node would fail on it with a message that helps nobody.

const nodeMajorMin = 24

if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) {
  const { main } = await import('./program.ts')
  process.exitCode = await main(process.argv)
} else {
  process.stderr.write(
    `error: pawl needs Node ${nodeMajorMin} or newer; this is Node ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
