// Checks the version of Node. This file imports nothing, so that an old Node can still load it and report the problem.

const MAJOR_MIN = 24

/** What is wrong with this version of Node; undefined if nothing is. */
export function nodeProblem(version: string = process.versions.node): string | undefined {
  if (Number.parseInt(version, 10) >= MAJOR_MIN) return undefined
  return `pawl needs Node ${MAJOR_MIN} or newer; this is Node ${version}.`
}
