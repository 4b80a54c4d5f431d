// Whether Node is new enough. It imports nothing, so that an old Node can still be told.

const MAJOR_MIN = 24

/** What is wrong with this Node, if anything. */
export function nodeProblem(version: string = process.versions.node): string | undefined {
  if (Number.parseInt(version, 10) >= MAJOR_MIN) return undefined
  return `pawl needs Node ${MAJOR_MIN} or newer; this is Node ${version}.`
}
