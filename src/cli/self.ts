// How the command line calls itself: the words a person would type, and files that are .ts beside this one in the
// repository, and .js in the package, where this module may be part of a larger one in a folder beside theirs.
import { basename, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** `pawl`, as it can be typed where this process was started. */
export function selfCommand(): string {
  const main = processFile('main')
  // The repository brings its own Node, which npx finds before an older one.
  if (extension === '.ts') return `npx node ${relative('.', main)}`
  return basename(process.argv[1] ?? '') === 'pawl'
    ? installedCommand()
    : `node ${relative('.', main)}`
}

/** `pawl`, or `npx pawl` where it was installed into a project and is not found without. */
export function installedCommand(): string {
  return /\bnode_modules\b.*\bpawl$/.test(process.argv[1] ?? '') ? 'npx pawl' : 'pawl'
}

/** A module of the command line that runs as a process of its own, by its path without the ending. */
export function processFile(name: string): string {
  return fileURLToPath(new URL(`../cli/${name}${extension}`, import.meta.url))
}
