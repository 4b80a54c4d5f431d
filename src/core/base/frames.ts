// Removes the frames of pawl and Node from stacks, because the reader looks for a place in their own program.

/** pawl's folder in the package or the repository. A bundle mixes pawl with other code, whose frames must stay. */
const place = /^(.*\/(?:node_modules\/pawl\/dist|src))\/(?:chunks|core\/base)\/[^/]+$/
const own = place.exec(import.meta.url)?.[1]

export function withoutOwnFrames(stack: string): string {
  if (own === undefined) return stack
  return stack
    .split('\n')
    .filter((line) => !isFrame(line) || !(line.includes(`${own}/`) || line.includes('node:internal')))
    .join('\n')
}

function isFrame(line: string): boolean {
  return /^ +at /.test(line)
}
