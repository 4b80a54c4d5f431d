// Stacks without the lines that point into pawl: a reader looks for a place in the program.

/** In the package, and in the repository. Anywhere else pawl is bundled with other code, whose lines must stay. */
const place = /^(.*\/(?:node_modules\/pawl\/dist|src))\/(?:chunks|core\/base)\/[^/]+$/
const own = place.exec(import.meta.url)?.[1]

export function withoutOwnFrames(stack: string): string {
  if (own === undefined) return stack
  return stack
    .split('\n')
    .filter(
      (line) => !isFrame(line) || !(line.includes(`${own}/`) || line.includes('node:internal')),
    )
    .join('\n')
}

function isFrame(line: string): boolean {
  return /^ +at /.test(line)
}
